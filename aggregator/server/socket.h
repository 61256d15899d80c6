// A connection's place in the kernel, and what the kernel knows of it.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::server {

// The inode tells it from a later one with the same descriptor. Another thread may close it at any time: all
// of this looks first whether it is still the same.
struct Socket {
  int fd = -1;
  std::uint64_t inode = 0;
};

// 0: the descriptor is closed.
std::uint64_t InodeOf(int fd);
// "192.0.2.7:5000" as wire::PeerOf gives it; empty: the peer has gone.
std::string PeerOfSocket(int fd);

bool IsOpen(Socket socket);
// Whether the peer has ended the connection, though there may be bytes of it to read. Not of unix sockets.
bool PeerHasClosed(int fd);
// Whether this side has ended it (Cut) before its peer did. Not of unix sockets.
bool WasCut(int fd);
bool IsTcp(int fd);
bool HasBytes(int fd);
// Whoever waits for bytes of it is told at once of those that are there, or that its peer has ended it: Linux
// looks anew when SO_RCVLOWAT is set (4.18). False: it is closed.
bool CauseAnEvent(int fd);
// Bytes that have come, in all. 0: a unix socket, or closed.
std::uint64_t Received(Socket socket);
// Bytes that have come and that nobody has read.
std::uint64_t Unread(Socket socket);
// Bytes that gRPC has taken from the socket, but for those that answer what we sent: a reader grants as much
// again in window updates, some 1/600 of it.
std::uint64_t Unexplained(Socket socket);
// Shuts the connection down and empties it: gRPC would read what has come before it sees the end. Returns its
// peer; empty if that had closed it already.
std::string Cut(Socket socket);

}  // namespace tributary::server
