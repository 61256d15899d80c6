// Drives one block between two streams, with random pauses on both sides, and records when words pass.
#pragma once

#include <cstdint>
#include <vector>

#include "fpga/tb/common/clock.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/common/stream.h"

namespace tributary::fpga {

// The pauses of a run. 100/100 measures throughput.
struct Pace {
  unsigned offer_percent = 100;
  unsigned accept_percent = 100;
};

// Model: a Verilated top with in_data_i/in_valid_i/in_ready_o and out_data_o/out_valid_o/out_ready_i.
template <class Model>
class FrameBench {
 public:
  explicit FrameBench(std::uint32_t seed) : source_(seed, 100), sink_(seed + 1, 100) {}

  Model* operator->() { return clock_.operator->(); }
  Clock<Model>& clock() { return clock_; }
  StreamSource& source() { return source_; }
  StreamSink& sink() { return sink_; }

  void Reset() {
    clock_->in_valid_i = 0;
    clock_->out_ready_i = 0;
    clock_.Reset();
  }

  // Runs until this many words have come out and every offered word was taken, or the bench hangs; returns
  // the words.
  std::vector<std::uint64_t> Run(std::size_t words, Pace pace, Coverage& coverage) {
    source_.set_offer_percent(pace.offer_percent);
    sink_.set_accept_percent(pace.accept_percent);
    std::uint64_t& starved = coverage.Point("input paused", 0);
    std::uint64_t& refused = coverage.Point("input refused", 0);
    std::uint64_t& blocked = coverage.Point("output refused", 0);
    in_cycles_.clear();
    out_cycles_.clear();
    while ((sink_.words().size() < words || !source_.empty()) && clock_.Running()) {
      Cycle();
      starved += !source_.valid() && !source_.empty();
      refused += was_refused_;
      blocked += was_blocked_;
    }
    return sink_.Take();
  }

  // Runs further cycles, in which nothing may come out.
  bool StaysSilent(int cycles) {
    for (int i = 0; i < cycles; ++i) Cycle();
    return sink_.words().empty();
  }

  // Cycle numbers at which words went in and came out in the last Run.
  const std::vector<std::uint64_t>& in_cycles() const { return in_cycles_; }
  const std::vector<std::uint64_t>& out_cycles() const { return out_cycles_; }

 private:
  void Cycle() {
    source_.Drive();
    sink_.Drive();
    Model& model = clock_.model();
    model.in_valid_i = source_.valid();
    model.in_data_i = source_.word();
    model.out_ready_i = sink_.ready();
    clock_.Settle();
    was_refused_ = source_.valid() && !model.in_ready_o;
    was_blocked_ = model.out_valid_o && !sink_.ready();
    if (source_.Sample(model.in_ready_o)) in_cycles_.push_back(clock_.cycle());
    if (sink_.Sample(model.out_valid_o, model.out_data_o)) out_cycles_.push_back(clock_.cycle());
    clock_.Edge();
  }

  Clock<Model> clock_;
  StreamSource source_;
  StreamSink sink_;
  std::vector<std::uint64_t> in_cycles_;
  std::vector<std::uint64_t> out_cycles_;
  bool was_refused_ = false;
  bool was_blocked_ = false;
};

}  // namespace tributary::fpga
