// The memory's side of a kernel's AXI4 port: 64-bit data, incrementing bursts of whole words.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tributary::device {

// The memory behind the addresses.
class BusMemory {
 public:
  virtual ~BusMemory() = default;
  // The bytes at an address, or nullptr if not all of them are memory: the bus answers DECERR.
  virtual std::uint8_t* Resolve(std::uint64_t address, std::uint64_t bytes) = 0;
};

// Signals that the kernel drives.
struct AxiMasterSignals {
  std::uint64_t awaddr = 0, wdata = 0, araddr = 0;
  std::uint8_t awlen = 0, wstrb = 0, arlen = 0;
  bool awvalid = false, wvalid = false, wlast = false, bready = false, arvalid = false, rready = false;
};

// Signals that the memory drives.
struct AxiMemorySignals {
  std::uint64_t rdata = 0;
  std::uint8_t bresp = 0, rresp = 0;
  bool awready = false, wready = false, bvalid = false, arready = false, rvalid = false, rlast = false;
};

// Answers in order; one thread.
class AxiMemoryPort {
 public:
  struct Timing {
    std::uint32_t latency_clocks = 8;  // from taking a burst to its first answer
    double stall = 0.0;                // probability that a channel stalls in a clock
    std::uint64_t seed = 1;
  };

  // The kernel's transfers, and the rules of AXI4 that it broke.
  struct Record {
    std::uint64_t read_bursts = 0, write_bursts = 0, read_words = 0, written_words = 0;
    std::uint32_t longest_burst = 0;
    std::uint32_t most_reads_outstanding = 0;
    std::vector<std::string> violations;  // at most 16
  };

  explicit AxiMemoryPort(BusMemory* memory) : memory_(memory) {}

  void set_timing(const Timing& timing);
  // Answers the next burst with SLVERR (and transfers the data all the same).
  void FailNextRead() { fail_read_ = true; }
  void FailNextWrite() { fail_write_ = true; }

  // One rising edge: takes the kernel's signals before it, returns the memory's signals after it.
  void Clock(const AxiMasterSignals& kernel);
  void Reset();

  const AxiMemorySignals& signals() const { return signals_; }
  const Record& record() const { return record_; }

 private:
  struct Burst {
    std::uint8_t* bytes;  // nullptr: answered with an error
    std::uint32_t beats;
    std::uint32_t done = 0;
    std::uint64_t due;  // clock of the first answer
    bool failed = false;
  };

  bool Held();
  Burst Take(std::uint64_t address, std::uint8_t len, bool fail, const char* channel);
  void ClockReads(const AxiMasterSignals& kernel);
  void ClockWrites(const AxiMasterSignals& kernel);
  void Violation(std::string text);

  BusMemory* memory_;
  Timing timing_;
  std::mt19937_64 random_{1};
  std::uint64_t clock_ = 0;
  bool fail_read_ = false, fail_write_ = false;
  std::deque<Burst> reads_, writes_, answers_;
  AxiMemorySignals signals_;
  AxiMasterSignals before_;  // the previous clock, to check that valid holds until ready
  AxiMemorySignals granted_;
  Record record_;
};

}  // namespace tributary::device
