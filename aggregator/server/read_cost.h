// What each connection costs the threads that fuse, beyond what comes of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "aggregator/server/socket.h"

namespace tributary::server {

// gRPC reads and parses on the threads that fuse, before anybody hears of a call: refused calls, headers that
// grow (CVE-2023-33953), pings. No limit of gRPC's and no count of calls sees all of these, so their cost is
// measured where it arises. This module defines recvmsg(), by which gRPC reads: from one read of a thread to
// its next, or to its next wait, the time is that of the connection read first, or of the one whose streams
// end. Where a connection is read while another thread writes to it, gRPC goes on with it on a thread of its
// own, which gives way to fusion: its time counts for nobody, but each connection has its turn there, too
// (ReadTurn). Otherwise that thread would make calls of whatever comes, faster than anybody counts them.
struct ReadCost {
  std::chrono::nanoseconds processor{0};  // of the threads that called CountReads, as far as it is measured
  std::chrono::nanoseconds ends{0};       // the same for the ends of its streams and its own
  std::uint64_t bytes = 0;                // that any thread has read
  std::uint64_t headers = 0;              // among these
  bool long_header = false;               // longer than any that is admitted
  bool crowd = false;                     // of more headers at once than may be calls
  bool long_handshake = false;            // of more bytes than kMostOfAHandshake
};

// What a peer may send before its handshake is over: a hello and three certificates with RSA keys of 4,096
// bits. OpenSSL takes 0.1 ms for each certificate, however small, before anybody knows who sent it. No more
// is read: the connection ends.
inline constexpr std::uint64_t kMostOfAHandshake = 8 << 10;

// Whether the time is measured for all reads. It always is for a connection's beginning
// (ReadTurn::kBeginning), in which floods begin, and for all but panels that owe nothing. Any thread.
void MeasureReads(bool measure);
// The calling thread's time counts from now on, from each read to the next one or to EndRead: call that
// whenever gRPC returns to it. What it does until it reads again is nobody's.
void CountReads();
void EndRead();
// The thread waits for what comes next: nothing that passes meanwhile is anybody's.
void BeginWait();
// A stream of this connection ends: what the thread does from now on is done for it, until the next read.
void BeginEnd(Socket socket);

// Takes in a connection, whose cost begins at nothing. What the descriptor's last one has cost is remembered
// until ForgetEnded. Descriptors beyond 65,535 are not counted.
void BeginReads(Socket socket);
// What its frames tell (FrameScan). Any thread.
void NoteFrames(Socket socket, std::uint64_t headers, std::size_t message_bytes_left);
void NoteLongHeader(Socket socket);
void NoteCrowd(Socket socket);
// Its handshake is over: HTTP/2 is read.
void NoteSpeaking(Socket socket);
// Whom a thread that fuses reads first.
enum class ReadRank : std::uint8_t {
  kOther,    // may wait
  kOwing,    // a panel or a watcher that costs too much: may wait, but for no other
  kWatcher,  // does not wait
  kPanel,    // the same, and catches up in one turn
};
// Any thread.
void RankReads(Socket socket, ReadRank rank);
// Who is not favoured may wait: when such reads have together cost so much, nobody of
// these is read until the next call, which tells the first of those that wait to go on. A record of TLS is 16
// KiB at once, whatever a turn is: many that become whole together would take the thread for seconds.
void AllowOtherReads(std::chrono::nanoseconds most);
// Handshakes may take a part of the time: whoever has not spoken yet may wait for that, as others do. They
// are allowed so much more now, and that or 2 ms are saved up; nanoseconds::max(): all may be read.
void AllowHandshakes(std::chrono::nanoseconds part);
// Until ReleaseReads nobody reads the connection. Not of unix sockets: nothing would tell gRPC to go on.
void HoldReads(Socket socket);
void ReleaseReads(Socket socket);
// In all; nothing if it is not known any more. Any thread.
std::optional<ReadCost> ReadCostOf(Socket socket);
// Call it whenever all costs have been looked at.
void ForgetEnded();

// How many times as long as a server's processor this one takes, builds with sanitizers included: at least 1,
// at most 100. Takes some milliseconds.
double ProcessorSlowness();

}  // namespace tributary::server
