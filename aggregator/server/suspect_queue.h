// Connections that have begun to speak, from addresses that may begin slowly.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "aggregator/server/socket.h"
#include "core/runtime/descriptor.h"

namespace tributary::server {

// Each address has its turn, so that none waits for the crowd of another. One thread's. The caller bounds how
// many wait: it cuts connections that are too many, and ForgetGone closes those.
class SuspectQueue {
 public:
  void Enter(const std::string& address, runtime::Descriptor connection) {
    std::deque<runtime::Descriptor>& waiting = waiting_[address];
    if (waiting.empty()) turns_.push_back(address);
    waiting.push_back(std::move(connection));
  }

  // The next connection of an address that may begin now; none: nobody waits, or nobody may.
  runtime::Descriptor Next(const std::function<bool(const std::string&)>& may) {
    for (std::size_t tries = turns_.size(); tries > 0; --tries) {
      const std::string address = std::move(turns_.front());
      turns_.pop_front();
      if (!may(address)) {
        turns_.push_back(address);
        continue;
      }
      const auto found = waiting_.find(address);
      runtime::Descriptor next = std::move(found->second.front());
      found->second.pop_front();
      if (found->second.empty()) {
        waiting_.erase(found);
      } else {
        turns_.push_back(address);
      }
      return next;
    }
    return runtime::Descriptor(-1);
  }

  // Closes those that were cut, or whose peers have hung up. How many of each address the latter are.
  std::unordered_map<std::string, std::size_t> ForgetGone() {
    std::unordered_map<std::string, std::size_t> hung_up;
    for (auto& [address, waiting] : waiting_) {
      std::size_t of_address = 0;
      std::erase_if(waiting, [&of_address](const runtime::Descriptor& each) {
        const bool gone = PeerHasClosed(each.get());
        of_address += gone && !WasCut(each.get());
        return gone;
      });
      if (of_address > 0) hung_up[address] = of_address;
    }
    std::erase_if(waiting_, [](const auto& each) { return each.second.empty(); });
    std::erase_if(turns_, [this](const std::string& address) { return !waiting_.contains(address); });
    return hung_up;
  }

  bool empty() const { return turns_.empty(); }

 private:
  std::unordered_map<std::string, std::deque<runtime::Descriptor>> waiting_;  // by address
  std::deque<std::string> turns_;                                             // of those addresses
};

}  // namespace tributary::server
