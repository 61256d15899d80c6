// The matrix with 8 lanes alone, as RTL and as netlist: tiles back to back, their weights as early and as
// late as allowed.
#include <array>
#include <cstdint>
#include <deque>
#include <random>

#include "Vtensor_matrix.h"
#include "fpga/tb/common/clock.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr int kLanes = 8;
constexpr int kSumBits = 18;
constexpr int kLatency = 12;  // 8, one for the adders, and three columns to the right
constexpr int kLeastGap = 4;  // from the last row of a tile to its first vector
constexpr int kLeastTile = 8 + kLeastGap - 1;

using Tile = std::array<std::array<int, kLanes>, kLanes>;  // [input][output]
using Vector = std::array<int, kLanes>;

class TensorMatrixTest : public testing::Test {
 protected:
  Tile RandomTile() {
    const bool extreme = random_() % 3 == 0;
    Tile tile;
    for (auto& row : tile) {
      for (int& weight : row) {
        weight = extreme ? (random_() % 4 == 0 ? -127 : 127) : static_cast<int>(random_() % 255) - 127;
      }
    }
    return tile;
  }
  Vector RandomVector() {
    const bool extreme = random_() % 3 == 0;
    Vector vector;
    for (int& value : vector) value = extreme ? -128 : static_cast<int>(random_() % 256) - 128;
    return vector;
  }

  // A row as the loader gives it: the upper weight of a pair is lowered where the lower one is negative.
  static std::uint64_t Row(const std::array<int, kLanes>& weights) {
    std::uint64_t word = 0;
    for (int i = 0; i < kLanes; ++i) {
      const int borrowed = i % 2 == 1 && weights[static_cast<std::size_t>(i - 1)] < 0 ? 1 : 0;
      const auto byte = static_cast<std::uint8_t>(weights[static_cast<std::size_t>(i)] - borrowed);
      word |= std::uint64_t{byte} << (8 * i);
    }
    return word;
  }

  // One cycle; compares the sums of a vector that went in kLatency cycles ago.
  void Cycle() {
    clock_.Settle();
    if (expected_.size() == kLatency) {
      if (expected_.front().counts) {
        for (int i = 0; i < kLanes; ++i)
          EXPECT_EQ(Sum(i), expected_.front().sums[static_cast<std::size_t>(i)]);
        ++compared_;
      }
      expected_.pop_front();
    }
    clock_.Edge();
  }

  int Sum(int lane) {
    const int at = lane * kSumBits;
    std::uint64_t bits = clock_->sums_o[static_cast<std::size_t>(at / 32)];
    if (at / 32 < 4) bits |= std::uint64_t{clock_->sums_o[static_cast<std::size_t>(at / 32 + 1)]} << 32;
    const auto sum = static_cast<int>(bits >> (at % 32) & ((1 << kSumBits) - 1));
    return sum >= 1 << (kSumBits - 1) ? sum - (1 << kSumBits) : sum;
  }

  struct Expected {
    bool counts = false;
    Vector sums{};
  };

  std::mt19937 random_{17};
  Clock<Vtensor_matrix> clock_;
  std::deque<Expected> expected_;
  int compared_ = 0;
};

TEST_F(TensorMatrixTest, MultipliesTilesThatFollowEachOtherWithoutAGap) {
  constexpr int kTiles = 400;
  Tile present{}, next = RandomTile();
  for (int tile = 0; tile <= kTiles; ++tile) {
    // The rows of the next tile, from the first vector on or as late as they may come.
    const int vectors = kLeastTile + static_cast<int>(random_() % 6);
    const int begin = random_() % 2 == 0 ? 0 : vectors - kLeastTile;
    for (int i = 0; i < vectors; ++i) {
      const Vector vector = RandomVector();
      Expected expected{.counts = tile > 0};
      std::uint64_t word = 0;
      for (int r = 0; r < kLanes; ++r) {
        word |= std::uint64_t{static_cast<std::uint8_t>(vector[static_cast<std::size_t>(r)])} << (8 * r);
        for (std::size_t c = 0; c < kLanes; ++c) {
          expected.sums[c] += vector[static_cast<std::size_t>(r)] * present[static_cast<std::size_t>(r)][c];
        }
      }
      clock_->activations_i = word;
      clock_->swap_i = i == 0;
      clock_->shift_i = i >= begin && i < begin + kLanes;
      clock_->weights_i = clock_->shift_i != 0 ? Row(next[static_cast<std::size_t>(i - begin)]) : random_();
      Cycle();
      expected_.push_back(expected);
    }
    present = next;
    next = RandomTile();
  }
  EXPECT_GT(compared_, kTiles * kLeastTile);
}

}  // namespace
}  // namespace tributary::fpga
