#include "node/source/udp_account.h"

#include <numeric>

namespace tributary::source {

std::uint64_t UdpCounters::all_unused() const {
  return std::accumulate(unused.begin(), unused.end(), std::uint64_t{0});
}

UdpCounters& UdpCounters::operator+=(const UdpCounters& other) {
  datagrams += other.datagrams;
  for (std::size_t i = 0; i < kUdpFaults; ++i) unused[i] += other.unused[i];
  lost_subjects += other.lost_subjects;
  lost_slots += other.lost_slots;
  kernel_drops += other.kernel_drops;
  return *this;
}

UdpCounters& UdpCounters::operator-=(const UdpCounters& other) {
  datagrams -= other.datagrams;
  for (std::size_t i = 0; i < kUdpFaults; ++i) unused[i] -= other.unused[i];
  lost_subjects -= other.lost_subjects;
  lost_slots -= other.lost_slots;
  kernel_drops -= other.kernel_drops;
  return *this;
}

UdpCounters UdpAccount::counters() const {
  UdpCounters counters;
  counters.datagrams = datagrams_;
  for (std::size_t i = 0; i < kUdpFaults; ++i) counters.unused[i] = unused_[i];
  counters.lost_subjects = lost_subjects_;
  counters.lost_slots = lost_slots_;
  counters.kernel_drops = kernel_drops_;
  return counters;
}

}  // namespace tributary::source
