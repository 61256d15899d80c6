// The int16 part of the unit with 8 lanes alone, as RTL and as netlist: the matrix, and the output stage.
// Tiles and blocks follow each other as closely as they may.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "Vtensor_int16.h"
#include "fpga/model/tensor_int16.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/tensor/wide_port.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kColumns = 4;
constexpr std::size_t kLatency = kColumns + 4;  // of the matrix
constexpr int kLeastTile = 4;                   // cycles between two tiles
constexpr int kLeastBlock = 6;                  // cycles between two blocks in the output stage
constexpr unsigned kProductBits = 34, kChannelBits = 53;

using Row = std::array<std::int16_t, kColumns>;
using Tile = std::array<Row, kColumns>;  // [input][output]
using Sums = std::array<std::int64_t, kColumns>;
using Channels = std::array<TensorInt16Channel, kColumns>;

std::uint64_t Word(const Row& row) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kColumns; ++i) {
    word |= std::uint64_t{static_cast<std::uint16_t>(row[i])} << (16 * i);
  }
  return word;
}

class TensorInt16DenseTest : public testing::Test {
 protected:
  TensorInt16DenseTest() { clock_.Reset(); }

  Row RandomRow() {
    Row row;
    for (std::int16_t& value : row) {
      value = random_() % 4 == 0 ? std::int16_t{-32768} : static_cast<std::int16_t>(random_());
    }
    return row;
  }
  Tile RandomTile() {
    Tile tile;
    for (Row& row : tile) row = RandomRow();
    return tile;
  }

  // One cycle of the matrix; `products`: of the vector that enters.
  void MatrixCycle(const std::optional<Sums>& products) {
    clock_.Settle();
    on_their_way_.push_back(products);
    if (on_their_way_.size() > kLatency) {
      if (const std::optional<Sums> expected = on_their_way_.front()) {
        for (std::size_t column = 0; column < kColumns; ++column) {
          EXPECT_EQ(SignedBits(clock_->products_o, kProductBits * column, kProductBits), (*expected)[column]);
        }
        ++compared_;
      }
      on_their_way_.pop_front();
    }
    clock_.Edge();
  }

  // One cycle of the output stage: compares a result, and renews the channel words when they are taken.
  void OutputCycle() {
    clock_.Settle();
    if (clock_->valid_o != 0) {
      ASSERT_FALSE(expected_.empty());
      const Result& result = expected_.front();
      EXPECT_EQ(clock_->data_o, result.word);
      EXPECT_EQ(clock_->first_o != 0, result.first);
      EXPECT_EQ(clock_->second_o != 0, result.second);
      EXPECT_EQ(clock_->last_o != 0, result.last);
      expected_.pop_front();
      ++compared_;
    }
    const bool taken = clock_->channels_taken_o != 0;
    clock_.Edge();
    if (taken) OfferChannels();
  }

  void OfferChannels() {
    for (std::size_t column = 0; column < kColumns; ++column) {
      TensorInt16Channel& channel = channels_[column];
      if (random_() % 4 == 0) {
        channel = {.bias = static_cast<std::int64_t>(random_()) >> 16,
                   .multiplier = static_cast<std::uint32_t>(random_() % (1 << 17)),
                   .shift = static_cast<std::uint8_t>(random_() % 64)};
      } else {
        channel = *Int16ChannelOf(std::ldexp(1.0 + static_cast<double>(random_() % 1000) / 1000,
                                             -static_cast<int>(random_() % 50)));
        channel.bias = static_cast<std::int64_t>(random_()) >> (16 + random_() % 40);
      }
      const auto words = EncodeInt16Channel(channel);
      SetBits(clock_->channels_i, kChannelBits * 2 * column, kChannelBits, words[0]);
      SetBits(clock_->channels_i, kChannelBits * (2 * column + 1), kChannelBits, words[1]);
    }
  }

  // A sum whose result is often neither 0 nor a limit.
  std::int64_t RandomSum(const TensorInt16Channel& channel) {
    const unsigned bits = random_() % 4 == 0 ? 6 + static_cast<unsigned>(random_() % 58)
                                             : std::clamp(64u - 16u - channel.shift, 6u, 63u);
    return static_cast<std::int64_t>(random_()) >> bits;
  }

  void Expect(const Sums& sums, bool first, bool int32, const Channels& channels,
              const TensorInt16Output& output) {
    if (!int32) {
      Row row;
      for (std::size_t i = 0; i < kColumns; ++i) row[i] = Int16OutputOf(sums[i], channels[i], output);
      expected_.push_back({Word(row), first, false, true});
      return;
    }
    const auto bits = [&](std::size_t i) {
      return std::uint64_t{static_cast<std::uint32_t>(Int32OutputOf(sums[i], channels[i]))};
    };
    expected_.push_back({bits(1) << 32 | bits(0), first, false, false});
    expected_.push_back({bits(3) << 32 | bits(2), false, true, true});
  }

  // Blocks of 1 to 12 pixels.
  void Blocks(int blocks, bool int32) {
    const auto limit = [&] { return static_cast<std::int16_t>(random_()); };
    const TensorInt16Output output = {.zero = limit(),
                                      .low = std::min(limit(), std::int16_t{0}),
                                      .high = std::max(limit(), std::int16_t{0})};
    SetBits(clock_->command_i, 16 + 4, 1, int32 ? 1 : 0);
    SetBits(clock_->command_i, 400, 16, static_cast<std::uint16_t>(output.zero));
    SetBits(clock_->command_i, 416, 16, static_cast<std::uint16_t>(output.low));
    SetBits(clock_->command_i, 432, 16, static_cast<std::uint16_t>(output.high));
    const int pace = int32 ? 2 : 1;
    for (int block = 0; block < blocks; ++block) {
      const int pixels = 1 + static_cast<int>(random_() % 12);
      const Channels channels = channels_;
      for (int cycle = 0; cycle < std::max(pixels * pace, kLeastBlock); ++cycle) {
        clock_->valid_i = cycle % pace == 0 && cycle / pace < pixels;
        clock_->first_i = cycle == 0;
        Sums sums;
        for (std::size_t i = 0; i < kColumns; ++i) {
          sums[i] = RandomSum(channels[i]);
          SetBits(clock_->sums_i, 64 * i, 64, static_cast<std::uint64_t>(sums[i]));
        }
        if (clock_->valid_i != 0) {
          Expect(sums, cycle == 0, int32, channels, output);
        }
        OutputCycle();
        if (HasFatalFailure()) return;
      }
    }
    clock_->valid_i = 0;
    for (int cycle = 0; cycle < 20; ++cycle) OutputCycle();
    EXPECT_TRUE(expected_.empty());
  }

  struct Result {
    std::uint64_t word;
    bool first, second, last;
  };
  std::mt19937_64 random_{29};
  Clock<Vtensor_int16> clock_;
  std::deque<std::optional<Sums>> on_their_way_;
  Channels channels_{};  // that are offered
  std::deque<Result> expected_;
  int compared_ = 0;
};

TEST_F(TensorInt16DenseTest, AddsTheProductsOfEveryTile) {
  Tile next = RandomTile();
  for (const Row& row : next) {
    clock_->weights_i = Word(row);
    clock_->shift_i = 1;
    MatrixCycle(std::nullopt);
  }
  for (int tile = 0; tile < 4000 && !HasFailure(); ++tile) {
    const Tile present = next;
    next = RandomTile();
    const int cycles = kLeastTile + static_cast<int>(random_() % 12);
    const int rows_from = random_() % 2 == 0 ? 0 : cycles - static_cast<int>(kColumns);
    for (int cycle = 0; cycle < cycles; ++cycle) {
      const int row = cycle - rows_from;
      clock_->shift_i = row >= 0 && row < static_cast<int>(kColumns);
      clock_->weights_i = clock_->shift_i != 0 ? Word(next[static_cast<std::size_t>(row)]) : random_();
      clock_->swap_i = cycle == 0;
      const Row vector = RandomRow();
      clock_->vector_i = Word(vector);
      Sums sums{};
      for (std::size_t input = 0; input < kColumns; ++input) {
        for (std::size_t output = 0; output < kColumns; ++output) {
          sums[output] += std::int64_t{vector[input]} * present[input][output];
        }
      }
      MatrixCycle(sums);
    }
  }
  EXPECT_GT(compared_, 30'000);
}

TEST_F(TensorInt16DenseTest, ScalesAndLimitsSumsBitForBit) {
  OfferChannels();
  for (int run = 0; run < 200 && !HasFailure(); ++run) Blocks(20, run % 3 == 0);
  EXPECT_GT(compared_, 30'000);
}

}  // namespace
}  // namespace tributary::fpga
