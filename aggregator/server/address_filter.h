// Turns addresses away before the kernel makes connections of what they send.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/descriptor.h"

namespace tributary::server {

// For a socket that listens for TCP: drops what comes from these addresses (wire::AddressOf) and passes all
// else. Names that are no address are left out.
std::vector<sock_filter> FilterAgainst(std::span<const std::string> addresses);

// An accepted connection inherits the filter of its listener and needs none.
void DropFilter(int connection);

// What is closed after it was accepted costs a handshake, a descriptor and the door's time, and comes again
// at once. Whoever gets no answer asks again after a second.
class AddressFilter {
 public:
  // A longer list would exceed what a socket may have (net.core.optmem_max of 20 KiB).
  static constexpr std::size_t kMostAddresses = 256;

  AddressFilter() = default;
  // The sockets listen for TCP and outlive it.
  explicit AddressFilter(std::span<const runtime::Descriptor> listeners);

  // Turns these away from now on, and nobody else; at most kMostAddresses. Where the kernel has no such
  // filter, nobody is turned away.
  void Set(std::vector<std::string> addresses);
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Packets that were dropped since the last call: one for each attempt, and those that repeat it.
  std::uint64_t TakeDropped();

 private:
  struct Listener {
    int fd = -1;
    std::uint32_t dropped = 0;  // as the kernel counts, when it was looked at last
  };

  std::vector<Listener> listeners_;
  std::vector<std::string> addresses_;
};

}  // namespace tributary::server
