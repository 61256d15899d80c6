// The account of one UDP source's datagrams.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "node/source/udp_fault.h"

namespace tributary::source {

// Counts since the source was opened.
struct UdpCounters {
  std::uint64_t datagrams = 0;  // received
  std::array<std::uint64_t, kUdpFaults> unused = {};
  std::uint64_t lost_subjects = 0;  // incomplete when their slot was handed on
  std::uint64_t lost_slots = 0;     // without a complete subject
  std::uint64_t kernel_drops = 0;   // datagrams for which the socket's buffer had no room

  std::uint64_t all_unused() const;
  std::uint64_t of(UdpFault fault) const { return unused[static_cast<std::size_t>(fault)]; }
  UdpCounters& operator+=(const UdpCounters& other);
  UdpCounters& operator-=(const UdpCounters& other);
};

// Written by the panel's thread, which may wait in Source::Next for hours; read by any thread. Readers share
// it, so its counts outlive the source.
class UdpAccount {
 public:
  explicit UdpAccount(std::uint16_t port) : port_(port) {}

  void CountDatagram() { Add(datagrams_, 1); }
  void CountUnused(UdpFault fault) { Add(unused_[static_cast<std::size_t>(fault)], 1); }
  void CountLost(std::uint64_t subjects, std::uint64_t slots) {
    Add(lost_subjects_, subjects);
    Add(lost_slots_, slots);
  }
  void CountKernelDrops(std::uint64_t datagrams) { Add(kernel_drops_, datagrams); }

  UdpCounters counters() const;
  std::uint16_t port() const { return port_; }  // that the source is bound to

 private:
  using Count = std::atomic<std::uint64_t>;
  static void Add(Count& count, std::uint64_t more) { count.fetch_add(more, std::memory_order_relaxed); }

  const std::uint16_t port_;
  Count datagrams_ = 0;
  std::array<Count, kUdpFaults> unused_ = {};
  Count lost_subjects_ = 0;
  Count lost_slots_ = 0;
  Count kernel_drops_ = 0;
};

}  // namespace tributary::source
