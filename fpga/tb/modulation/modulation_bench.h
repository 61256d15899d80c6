// Drives the three streams of a modulation block, and compares with the golden model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "fpga/model/modulation_image.h"
#include "fpga/model/modulation_int8.h"
#include "fpga/model/positioning_image.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/common/stream.h"
#include "gtest/gtest.h"

namespace tributary::fpga {

template <class Model>
class ModulationBench {
 public:
  ModulationBench(std::uint32_t seed, const ModulationParallelism& parallelism)
      : parallelism_(parallelism), load_(seed, 100), in_(seed + 1, 100), out_(seed + 2, 100) {
    clock_.Reset();
  }

  // Percent of the cycles in which a word is offered, and in which one is accepted.
  void Pace(unsigned offer, unsigned accept) {
    load_.set_offer_percent(offer);
    in_.set_offer_percent(offer);
    out_.set_accept_percent(accept);
  }

  // Expects this network for everything offered from now on. Bursts under way are still computed with the one
  // before.
  void Load(const Int8Modulation& network) {
    Expect(network);
    const auto words = ModulationParameterWords(network, parallelism_);
    ASSERT_TRUE(words.ok()) << words.status();
    LoadWords(*words);
  }
  void LoadWords(std::span<const std::uint64_t> words) {
    for (const std::uint64_t word : words) load_.Push(word);
    while (!load_.empty() && Running()) Cycle();
  }
  void Expect(const Int8Modulation& network) { network_ = network; }

  void Offer(std::span<const std::int8_t> samples) {
    std::array<std::uint64_t, kModulationInputWords> words;
    ModulationBurstWords(samples, words);
    for (const std::uint64_t word : words) in_.Push(word);
    expected_.push_back(RunInt8Layers(network_, samples));
  }

  // Waits until everything offered was taken.
  void RunUntilTaken() {
    while (!in_.empty() && Running()) Cycle();
  }

  // Waits until the last burst has started: the one before is answered.
  void RunUntilStarted() {
    while (expected_.size() > 1 && Running()) Cycle();
    for (int cycle = 0; cycle < 4; ++cycle) Cycle();
  }

  // Offers words of which nothing is expected, and returns how many come out within some cycles.
  std::size_t Answers(std::span<const std::uint64_t> words, int cycles) {
    for (const std::uint64_t word : words) in_.Push(word);
    ignoring_ = true;
    for (int cycle = 0; cycle < cycles; ++cycle) Cycle();
    ignoring_ = false;
    return out_.Take().size();
  }

  // Waits until every offered result has been compared.
  void Drain() {
    while (!expected_.empty() && Running()) Cycle();
  }

  // A reset: what is inside is not answered, and no network is loaded any more.
  void Reset() {
    clock_->load_valid_i = 0;
    clock_->in_valid_i = 0;
    clock_.Reset();
    out_.Take();
    expected_.clear();
    words_in_ = 0;
  }

  void Cycle() {
    load_.Drive();
    in_.Drive();
    out_.Drive();
    clock_->load_data_i = load_.word();
    clock_->load_valid_i = load_.valid();
    clock_->in_data_i = in_.word();
    clock_->in_valid_i = in_.valid();
    clock_->out_ready_i = out_.ready();
    clock_.Settle();
    const bool loaded = load_.Sample(clock_->load_ready_o);
    input_waited += in_.valid() && !clock_->in_ready_o;
    output_waited += clock_->out_valid_o && !out_.ready();
    load_waited += load_.valid() && !clock_->load_ready_o;
    const bool taken = in_.Sample(clock_->in_ready_o);
    const bool answered = out_.Sample(clock_->out_valid_o, clock_->out_data_o);
    if (loaded || taken || answered) last_word_ = clock_.cycle();
    if (taken && ++words_in_ % kModulationInputWords == 0) input_complete_.push_back(clock_.cycle());
    if (answered && !ignoring_) Compare();
    clock_.Edge();
  }

  bool FailedOften() const { return failures_ > 10; }

  std::uint64_t compared = 0;
  std::uint64_t saturated = 0;  // logits at an end of their range
  std::uint64_t input_waited = 0;
  std::uint64_t output_waited = 0;
  std::uint64_t load_waited = 0;
  // Cycle of the last word in, and of the last word out, of each burst.
  const std::vector<std::uint64_t>& input_complete() const { return input_complete_; }
  const std::vector<std::uint64_t>& output_complete() const { return output_complete_; }

 private:
  // No program takes so many cycles for a burst.
  static constexpr std::uint64_t kHangs = 50'000;

  // False, with a failed test, if the block hangs.
  bool Running() const {
    const bool running = clock_.cycle() - last_word_ < kHangs && !FailedOften();
    EXPECT_TRUE(running || FailedOften()) << "the block takes and gives nothing any more";
    return running;
  }

  void Compare() {
    if (expected_.empty()) {
      if (++failures_ <= 3) ADD_FAILURE() << "a word that nobody asked for";
      return;
    }
    if (out_.words().size() < kModulationOutputWords) return;
    std::vector<std::int32_t> results(kModulationClasses);
    PositioningResults(out_.Take(), results);
    if (results != expected_.front() && ++failures_ <= 3) {
      ADD_FAILURE() << "burst " << compared << ": " << testing::PrintToString(results) << ", expected "
                    << testing::PrintToString(expected_.front());
    }
    ++compared;
    for (const std::int32_t result : results) saturated += result == 32767 || result == -32768;
    output_complete_.push_back(clock_.cycle());
    expected_.pop_front();
  }

  ModulationParallelism parallelism_;
  Clock<Model> clock_;
  StreamSource load_;
  StreamSource in_;
  StreamSink out_;
  Int8Modulation network_;
  std::deque<std::vector<std::int32_t>> expected_;
  std::vector<std::uint64_t> input_complete_;
  std::vector<std::uint64_t> output_complete_;
  std::uint64_t words_in_ = 0;
  std::uint64_t last_word_ = 0;  // cycle in which one was taken or given
  bool ignoring_ = false;
  int failures_ = 0;
};

inline Int8Modulation Int8Of(const TrainedModulation& network) {
  absl::StatusOr<Int8Modulation> fixed = MakeInt8Modulation(network);
  EXPECT_TRUE(fixed.ok()) << fixed.status();
  return *std::move(fixed);
}

}  // namespace tributary::fpga
