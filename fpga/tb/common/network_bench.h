// Drives a block that loads a network and then answers frames, and compares each answer with the expected
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "fpga/model/positioning_image.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/common/stream.h"
#include "gtest/gtest.h"

namespace tributary::fpga {

// Model: a Verilated top with the streams load, in and out of 64 bits. A frame is answered by int32 results,
// two per word.
template <class Model>
class NetworkBench {
 public:
  explicit NetworkBench(std::uint32_t seed) : load_(seed, 100), in_(seed + 1, 100), out_(seed + 2, 100) {
    clock_.Reset();
  }

  // Percent of the cycles in which a word is offered, and in which one is accepted.
  void Pace(unsigned offer, unsigned accept) {
    load_.set_offer_percent(offer);
    in_.set_offer_percent(offer);
    out_.set_accept_percent(accept);
  }

  // Frames under way are still computed with the network before.
  void LoadWords(std::span<const std::uint64_t> words) {
    for (const std::uint64_t word : words) load_.Push(word);
    while (!load_.empty() && Running()) Cycle();
  }

  // Frames have equally many words.
  void OfferWords(std::span<const std::uint64_t> words, std::vector<std::int32_t> expected) {
    for (const std::uint64_t word : words) in_.Push(word);
    words_per_frame_ = words.size();
    expected_.push_back(std::move(expected));
  }

  // Offers words of which nothing is expected, and returns how many come out within some cycles.
  std::size_t Answers(std::span<const std::uint64_t> words, int cycles) {
    for (const std::uint64_t word : words) in_.Push(word);
    ignoring_ = true;
    for (int cycle = 0; cycle < cycles; ++cycle) Cycle();
    ignoring_ = false;
    return out_.Take().size();
  }

  // Waits until everything offered was taken.
  void RunUntilTaken() {
    while (!in_.empty() && Running()) Cycle();
  }

  // Waits until every offered frame but `left` has been answered.
  void Drain(std::size_t left = 0) {
    while (expected_.size() > left && Running()) Cycle();
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
    load_waited += load_.valid() && !clock_->load_ready_o;
    input_waited += in_.valid() && !clock_->in_ready_o;
    output_waited += clock_->out_valid_o && !out_.ready();
    const bool loaded = load_.Sample(clock_->load_ready_o);
    const bool taken = in_.Sample(clock_->in_ready_o);
    const bool answered = out_.Sample(clock_->out_valid_o, clock_->out_data_o);
    if (loaded || taken || answered) last_word_ = clock_.cycle();
    if (taken && ++words_in_ % words_per_frame_ == 0) input_complete_.push_back(clock_.cycle());
    if (answered && !ignoring_) Compare();
    clock_.Edge();
  }

  bool FailedOften() const { return failures_ > 10; }
  std::uint64_t cycle() const { return clock_.cycle(); }

  std::uint64_t compared = 0;
  // Cycles in which a word waited.
  std::uint64_t input_waited = 0;
  std::uint64_t output_waited = 0;
  std::uint64_t load_waited = 0;
  // Cycle of the last word in, and of the last word out, of each frame since Restart().
  const std::vector<std::uint64_t>& input_complete() const { return input_complete_; }
  const std::vector<std::uint64_t>& output_complete() const { return output_complete_; }
  void Restart() {
    input_complete_.clear();
    output_complete_.clear();
  }

 protected:
  Model& model() { return clock_.model(); }

 private:
  // No network takes so many cycles for a frame.
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
    const std::vector<std::int32_t>& expected = expected_.front();
    if (out_.words().size() < (expected.size() + 1) / 2) return;
    const std::vector<std::uint64_t> words = out_.Take();
    std::vector<std::int32_t> results(expected.size());
    PositioningResults(words, results);
    if (results != expected && ++failures_ <= 3) {
      ADD_FAILURE() << "frame " << compared << ": " << testing::PrintToString(results) << ", expected "
                    << testing::PrintToString(expected);
    }
    if (expected.size() % 2 != 0) {
      EXPECT_EQ(words.back() >> 32, 0u);
    }
    ++compared;
    output_complete_.push_back(clock_.cycle());
    expected_.pop_front();
  }

  Clock<Model> clock_;
  StreamSource load_;
  StreamSource in_;
  StreamSink out_;
  std::deque<std::vector<std::int32_t>> expected_;
  std::vector<std::uint64_t> input_complete_;
  std::vector<std::uint64_t> output_complete_;
  std::uint64_t words_in_ = 0;
  std::size_t words_per_frame_ = 1;
  std::uint64_t last_word_ = 0;  // cycle in which one was taken or given
  bool ignoring_ = false;
  int failures_ = 0;
};

}  // namespace tributary::fpga
