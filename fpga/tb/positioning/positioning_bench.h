// Drives the three streams of a positioning block of any size, and compares with the golden stages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <vector>

#include "fpga/model/positioning_image.h"
#include "fpga/model/positioning_model.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/common/stream.h"

namespace tributary::fpga {

template <class Model>
class PositioningBench {
 public:
  PositioningBench(std::uint32_t seed, const PositioningParallelism& parallelism)
      : parallelism_(parallelism), load_(seed, 100), in_(seed + 1, 100), out_(seed + 2, 100) {
    clock_.Reset();
  }

  // Percent of the cycles in which a word is offered, and in which one is accepted.
  void Pace(unsigned offer, unsigned accept) {
    load_.set_offer_percent(offer);
    in_.set_offer_percent(offer);
    out_.set_accept_percent(accept);
  }

  // Expects this network for everything offered from now on.
  void Expect(const FixedPositioning& fixed) { fixed_ = fixed; }

  // Inferences under way are still computed with the network before.
  void Load(const FixedPositioning& fixed) {
    Expect(fixed);
    for (const std::uint64_t word : PositioningParameterWords(fixed, parallelism_)) load_.Push(word);
    while (!load_.empty() && clock_.Running()) Cycle();
  }

  void Offer(std::span<const std::int32_t> features) {
    for (const std::uint64_t word : PositioningInputWords(features)) in_.Push(word);
    words_per_inference_ = features.size() / 8;
    expected_.push_back(RunLayers(fixed_, features));
  }

  // Waits until everything offered has started.
  void RunUntilStarted(int rows) {
    while (!in_.empty() && clock_.Running()) Cycle();
    for (int row = 0; row < rows + 4; ++row) Cycle();
  }

  // A reset some cycles after everything offered was taken: what is inside is not answered, and no network is
  // loaded any more.
  void ResetAfter(unsigned cycles) {
    while (!in_.empty() && clock_.Running()) Cycle();
    for (unsigned cycle = 0; cycle < cycles; ++cycle) Cycle();
    clock_->load_valid_i = 0;
    clock_->in_valid_i = 0;
    clock_.Reset();
    out_.Take();
    expected_.clear();
  }

  // Waits until every offered result has been compared.
  void Drain() {
    while (!expected_.empty() && clock_.Running()) Cycle();
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
    load_.Sample(clock_->load_ready_o);
    if (in_.Sample(clock_->in_ready_o) && ++words_in_ % words_per_inference_ == 0) {
      input_complete_.push_back(clock_.cycle());
    }
    input_waited += in_.valid() && !clock_->in_ready_o;
    output_waited += clock_->out_valid_o && !out_.ready();
    load_waited += load_.valid() && !clock_->load_ready_o;
    if (out_.Sample(clock_->out_valid_o, clock_->out_data_o)) Compare();
    clock_.Edge();
  }

  std::uint64_t compared = 0;
  std::uint64_t input_waited = 0;
  std::uint64_t output_waited = 0;
  std::uint64_t load_waited = 0;
  // Cycle of the last word in, and of the last word out, of each inference since Restart().
  const std::vector<std::uint64_t>& input_complete() const { return input_complete_; }
  const std::vector<std::uint64_t>& output_complete() const { return output_complete_; }
  void Restart() {
    input_complete_.clear();
    output_complete_.clear();
  }
  bool FailedOften() const { return failures_ > 10; }

 private:
  void Compare() {
    ASSERT_FALSE(expected_.empty()) << "a word that nobody asked for";
    const std::vector<std::int32_t>& expected = expected_.front();
    if (out_.words().size() < (expected.size() + 1) / 2) return;
    std::vector<std::int32_t> results(expected.size());
    const std::vector<std::uint64_t> words = out_.Take();
    PositioningResults(words, results);
    if (results != expected && ++failures_ <= 3) {
      ADD_FAILURE() << "inference " << compared << ": " << testing::PrintToString(results) << ", expected "
                    << testing::PrintToString(expected);
    }
    if (expected.size() % 2 != 0) {
      EXPECT_EQ(words.back() >> 32, 0u);
    }
    ++compared;
    output_complete_.push_back(clock_.cycle());
    expected_.pop_front();
  }

  PositioningParallelism parallelism_;
  Clock<Model> clock_;
  StreamSource load_;
  StreamSource in_;
  StreamSink out_;
  FixedPositioning fixed_;
  std::deque<std::vector<std::int32_t>> expected_;
  std::vector<std::uint64_t> input_complete_;
  std::vector<std::uint64_t> output_complete_;
  std::uint64_t words_in_ = 0;
  std::size_t words_per_inference_ = 1;
  int failures_ = 0;
};

inline std::vector<std::int32_t> RandomWords(std::mt19937& random, std::size_t count, std::int32_t low,
                                             std::int32_t high) {
  std::vector<std::int32_t> words(count);
  for (std::int32_t& word : words) word = std::uniform_int_distribution<std::int32_t>(low, high)(random);
  return words;
}

// Words at both ends of their range only: the largest sums.
inline std::vector<std::int32_t> ExtremeWords(std::mt19937& random, std::size_t count, std::int32_t low,
                                              std::int32_t high) {
  std::vector<std::int32_t> words(count);
  for (std::int32_t& word : words) word = random() % 2 != 0 ? low : high;
  return words;
}

}  // namespace tributary::fpga
