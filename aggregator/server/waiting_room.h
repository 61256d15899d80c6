// Connections that have not begun to speak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregator/server/socket.h"
#include "core/runtime/descriptor.h"

namespace tributary::server {

// Holds accepted connections until their peers' first words are there. gRPC makes a TLS context of some 50 kB
// for each connection, on a thread that fuses, before it knows whether more than a byte will come. A
// connection that waits here costs a descriptor and what the kernel keeps.
//
// One thread's. The caller bounds how many wait.
class WaitingRoom {
 public:
  WaitingRoom();

  // Readable when there is something to do for Listen.
  int descriptor() const { return epoll_.get(); }

  void Enter(runtime::Descriptor connection, std::uint64_t inode, std::int64_t now_ns);
  // Notes who has spoken meanwhile, and closes the connections whose peers have hung up.
  void Listen();
  // The connection whose first words came first; negative: nobody waits to be let in. The caller closes it.
  int Next();
  bool AnybodyReady() const { return !ready_.empty(); }
  // Closes it; false: it does not wait here.
  bool Close(Socket socket);
  // Closes those that came before `then_ns` and have not begun to speak. The peers of those.
  std::vector<std::string> CloseOlderThan(std::int64_t then_ns);

 private:
  struct Guest {
    runtime::Descriptor connection{-1};
    std::uint64_t inode = 0;
    std::int64_t since_ns = 0;
    bool ready = false;
  };
  using Guests = std::unordered_map<int, Guest>;

  // `hung_up`: nothing more will come.
  void Judge(Guests::iterator guest, bool hung_up);

  runtime::Descriptor epoll_;
  Guests guests_;             // by descriptor
  std::deque<Socket> ready_;  // some of which may have been closed since
};

}  // namespace tributary::server
