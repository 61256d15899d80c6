#include "fpga/device/axi_memory_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fmt/format.h"

namespace tributary::device {
namespace {

constexpr std::uint8_t kOkay = 0;
constexpr std::uint8_t kSlaveError = 2;
constexpr std::size_t kMaxOutstanding = 16;
constexpr std::size_t kMaxViolations = 16;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kWordBytes = 8;

}  // namespace

void AxiMemoryPort::set_timing(const Timing& timing) {
  timing_ = timing;
  random_.seed(timing.seed);
}

void AxiMemoryPort::Reset() {
  reads_.clear();
  writes_.clear();
  answers_.clear();
  signals_ = {};
  before_ = {};
  granted_ = {};
}

bool AxiMemoryPort::Held() {
  if (timing_.stall <= 0.0) return false;
  return static_cast<double>(random_()) < timing_.stall * static_cast<double>(std::mt19937_64::max());
}

void AxiMemoryPort::Violation(std::string text) {
  if (record_.violations.size() < kMaxViolations) {
    record_.violations.push_back(fmt::format("clock {}: {}", clock_, text));
  }
}

AxiMemoryPort::Burst AxiMemoryPort::Take(std::uint64_t address, std::uint8_t len, bool fail,
                                         const char* channel) {
  const std::uint32_t beats = len + 1u;
  const std::uint64_t bytes = beats * kWordBytes;
  if (address % kWordBytes != 0) {
    Violation(fmt::format("{} address {:#x} is not a whole word", channel, address));
  }
  if (address / kPageBytes != (address + bytes - 1) / kPageBytes) {
    Violation(fmt::format("{} burst of {} words at {:#x} crosses a 4 KiB boundary", channel, beats, address));
  }
  record_.longest_burst = std::max(record_.longest_burst, beats);
  std::uint8_t* memory = memory_->Resolve(address, bytes);
  return {memory, beats, 0, clock_ + timing_.latency_clocks, fail || memory == nullptr};
}

void AxiMemoryPort::ClockReads(const AxiMasterSignals& kernel) {
  if (before_.arvalid && !granted_.arready &&
      (!kernel.arvalid || kernel.araddr != before_.araddr || kernel.arlen != before_.arlen)) {
    Violation("a read address changed before it was taken");
  }
  if (kernel.arvalid && signals_.arready) {
    reads_.push_back(Take(kernel.araddr, kernel.arlen, std::exchange(fail_read_, false), "read"));
    ++record_.read_bursts;
    record_.most_reads_outstanding =
        std::max(record_.most_reads_outstanding, static_cast<std::uint32_t>(reads_.size()));
  }
  if (signals_.rvalid && kernel.rready) {
    ++record_.read_words;
    if (++reads_.front().done == reads_.front().beats) reads_.pop_front();
    signals_.rvalid = false;
  }
  signals_.arready = reads_.size() < kMaxOutstanding && !Held();
  if (signals_.rvalid || reads_.empty() || reads_.front().due > clock_ || Held()) return;
  const Burst& burst = reads_.front();
  signals_.rvalid = true;
  signals_.rdata = 0;
  if (burst.bytes != nullptr) std::memcpy(&signals_.rdata, burst.bytes + burst.done * kWordBytes, kWordBytes);
  signals_.rresp = burst.failed ? kSlaveError : kOkay;
  signals_.rlast = burst.done + 1 == burst.beats;
}

void AxiMemoryPort::ClockWrites(const AxiMasterSignals& kernel) {
  if (before_.awvalid && !granted_.awready &&
      (!kernel.awvalid || kernel.awaddr != before_.awaddr || kernel.awlen != before_.awlen)) {
    Violation("a write address changed before it was taken");
  }
  if (before_.wvalid && !granted_.wready &&
      (!kernel.wvalid || kernel.wdata != before_.wdata || kernel.wlast != before_.wlast)) {
    Violation("a write word changed before it was taken");
  }
  if (kernel.awvalid && signals_.awready) {
    writes_.push_back(Take(kernel.awaddr, kernel.awlen, std::exchange(fail_write_, false), "write"));
    ++record_.write_bursts;
  }
  if (kernel.wvalid && signals_.wready) {
    if (writes_.empty()) {
      Violation("a write word came before its address");
    } else {
      Burst& burst = writes_.front();
      for (std::uint32_t i = 0; i < kWordBytes && burst.bytes != nullptr && !burst.failed; ++i) {
        if ((kernel.wstrb >> i & 1) != 0) {
          burst.bytes[burst.done * kWordBytes + i] = static_cast<std::uint8_t>(kernel.wdata >> (8 * i));
        }
      }
      ++record_.written_words;
      ++burst.done;
      if (kernel.wlast != (burst.done == burst.beats))
        Violation("the last word of a burst is marked wrongly");
      if (burst.done == burst.beats) {
        burst.due = clock_ + timing_.latency_clocks;
        answers_.push_back(burst);
        writes_.pop_front();
      }
    }
  }
  if (signals_.bvalid && kernel.bready) {
    answers_.pop_front();
    signals_.bvalid = false;
  }
  signals_.awready = writes_.size() + answers_.size() < kMaxOutstanding && !Held();
  signals_.wready = !Held();
  if (signals_.bvalid || answers_.empty() || answers_.front().due > clock_ || Held()) return;
  signals_.bvalid = true;
  signals_.bresp = answers_.front().failed ? kSlaveError : kOkay;
}

void AxiMemoryPort::Clock(const AxiMasterSignals& kernel) {
  ++clock_;
  const AxiMemorySignals offered = signals_;
  ClockReads(kernel);
  ClockWrites(kernel);
  before_ = kernel;
  granted_ = offered;
}

}  // namespace tributary::device
