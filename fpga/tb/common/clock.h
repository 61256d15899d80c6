// Clock and reset of a Verilated top with ports clk_i and rst_ni.
#pragma once

#include <cstdint>

#include "gtest/gtest.h"
#include "verilated.h"

namespace tributary::fpga {

// Owns the model. One cycle is: inputs written by the caller, Settle(), outputs read, Edge().
template <class Model>
class Clock {
 public:
  explicit Clock(std::uint64_t limit = 100'000'000) : limit_(limit) {}

  Model* operator->() { return &model_; }
  Model& model() { return model_; }

  // Inputs keep the caller's values.
  void Reset(int cycles = 4) {
    model_.rst_ni = 0;
    for (int i = 0; i < cycles; ++i) {
      Settle();
      Edge();
    }
    model_.rst_ni = 1;
  }

  void Settle() {
    model_.clk_i = 0;
    model_.eval();
  }

  void Edge() {
    model_.clk_i = 1;
    model_.eval();
    ++cycle_;
  }

  // False, with a failed test, if the bench hangs.
  bool Running() const {
    EXPECT_LT(cycle_, limit_) << "the bench does not come to its end";
    return cycle_ < limit_;
  }

  std::uint64_t cycle() const { return cycle_; }

 private:
  // Registers and memories without a reset start with arbitrary values, as on a board, but always the same.
  struct RandomStart {
    RandomStart() {
      Verilated::randReset(2);
      Verilated::randSeed(20'042);
    }
  };

  RandomStart random_start_;  // before the model
  Model model_;
  std::uint64_t limit_;
  std::uint64_t cycle_ = 0;
};

}  // namespace tributary::fpga
