// The two ends of a valid/ready stream on a bench: random pauses on both sides, from fixed seeds.
//
// Per cycle, with the clock low: Drive() both ends, write their signals to the model, eval(); then Sample()
// both ends with what the model shows; then the rising edge.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace tributary::fpga {

// Offers words; an offered word stays until it is taken. offer_percent 100 offers without a pause.
class StreamSource {
 public:
  StreamSource(std::uint32_t seed, unsigned offer_percent) : random_(seed), offer_percent_(offer_percent) {}

  void Push(std::uint64_t word) { words_.push_back(word); }
  void set_offer_percent(unsigned percent) { offer_percent_ = percent; }
  bool empty() const { return words_.empty(); }

  // Decides whether a word is offered in this cycle.
  void Drive() { valid_ = valid_ || (!words_.empty() && random_() % 100 < offer_percent_); }
  bool valid() const { return valid_; }
  std::uint64_t word() const {
    return valid_ ? words_.front() : random_();
  }  // nothing may depend on idle data

  // Returns whether the word was taken.
  bool Sample(bool ready) {
    if (!valid_ || !ready) return false;
    words_.pop_front();
    valid_ = false;
    return true;
  }

 private:
  mutable std::mt19937 random_;
  unsigned offer_percent_;
  std::deque<std::uint64_t> words_;
  bool valid_ = false;
};

// Takes words. accept_percent 100 is always ready.
class StreamSink {
 public:
  StreamSink(std::uint32_t seed, unsigned accept_percent) : random_(seed), accept_percent_(accept_percent) {}

  void set_accept_percent(unsigned percent) { accept_percent_ = percent; }
  void Drive() { ready_ = random_() % 100 < accept_percent_; }
  bool ready() const { return ready_; }

  // Returns whether a word was taken.
  bool Sample(bool valid, std::uint64_t word) {
    if (!valid || !ready_) return false;
    words_.push_back(word);
    return true;
  }

  const std::vector<std::uint64_t>& words() const { return words_; }
  std::vector<std::uint64_t> Take() { return std::exchange(words_, {}); }

 private:
  std::mt19937 random_;
  unsigned accept_percent_;
  std::vector<std::uint64_t> words_;
  bool ready_ = false;
};

}  // namespace tributary::fpga
