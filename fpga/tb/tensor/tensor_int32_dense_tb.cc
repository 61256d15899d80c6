// The int32 part of the unit with 8 lanes alone, as RTL and as netlist: the matrix, and the output stage.
// Tiles and blocks follow each other as closely as they may.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "Vtensor_int32.h"
#include "fpga/model/tensor_int32.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/tensor/wide_port.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kColumns = 2;
constexpr std::size_t kLatency = kColumns + 7;  // of the matrix
constexpr int kLeastTile = 4;                   // cycles between two tiles
constexpr int kLeastBlock = 6;                  // cycles between two blocks in the output stage
constexpr unsigned kProductBits = 65, kChannelBits = 53;

using Row = std::array<std::int32_t, kColumns>;
using Tile = std::array<Row, kColumns>;  // [input][output]
using Sums = std::array<absl::int128, kColumns>;
using Channels = std::array<TensorInt32Channel, kColumns>;

std::uint64_t Word(const Row& row) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kColumns; ++i) {
    word |= std::uint64_t{static_cast<std::uint32_t>(row[i])} << (32 * i);
  }
  return word;
}

class TensorInt32DenseTest : public testing::Test {
 protected:
  TensorInt32DenseTest() { clock_.Reset(); }

  Row RandomRow() {
    Row row;
    for (std::int32_t& value : row) {
      value = random_() % 4 == 0 ? INT32_MIN : static_cast<std::int32_t>(random_());
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
          const std::size_t from = kProductBits * column;
          const absl::int128 found =
              absl::MakeInt128(SignedBits(clock_->products_o, from + 64, kProductBits - 64),
                               static_cast<std::uint64_t>(SignedBits(clock_->products_o, from, 64)));
          EXPECT_TRUE(found == (*expected)[column]);
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
      expected_.pop_front();
      ++compared_;
    }
    const bool taken = clock_->channels_taken_o != 0;
    clock_.Edge();
    if (taken) OfferChannels();
  }

  void OfferChannels() {
    for (std::size_t column = 0; column < kColumns; ++column) {
      TensorInt32Channel& channel = channels_[column];
      if (random_() % 4 == 0) {
        channel = {.bias = RandomWide() >> (128 - kInt32BiasBits),
                   .multiplier = random_() >> 30,
                   .shift = static_cast<std::uint8_t>(random_() % 64)};
      } else {
        channel = *Int32ChannelOf(std::ldexp(1.0 + static_cast<double>(random_() % 100'000) / 100'000,
                                             -static_cast<int>(random_() % 60)));
        channel.bias = RandomWide() >> static_cast<int>(128 - kInt32BiasBits + random_() % 80);
      }
      const auto words = EncodeInt32Channel(channel);
      for (std::size_t i = 0; i < words.size(); ++i) {
        SetBits(clock_->channels_i, kChannelBits * (4 * column + i), kChannelBits, words[i]);
      }
    }
  }

  absl::int128 RandomWide() { return absl::MakeInt128(static_cast<std::int64_t>(random_()), random_()); }

  // A sum whose result is often neither 0 nor a limit.
  absl::int128 RandomSum(const TensorInt32Channel& channel) {
    const int bits = random_() % 4 == 0 ? 39 + static_cast<int>(random_() % 88) : 128 - 32 - channel.shift;
    return RandomWide() >> std::max(bits, 39);
  }

  // Blocks of 1 to 12 pixels.
  void Blocks(int blocks) {
    const auto limit = [&] { return static_cast<std::int32_t>(random_()); };
    const TensorInt32Output output = {.low = std::min(limit(), 0), .high = std::max(limit(), 0)};
    SetBits(clock_->command_i, 384, 32, static_cast<std::uint32_t>(output.low));
    SetBits(clock_->command_i, 416, 32, static_cast<std::uint32_t>(output.high));
    for (int block = 0; block < blocks; ++block) {
      const int pixels = 1 + static_cast<int>(random_() % 12);
      const Channels channels = channels_;
      for (int cycle = 0; cycle < std::max(pixels, kLeastBlock); ++cycle) {
        clock_->valid_i = cycle < pixels;
        clock_->first_i = cycle == 0;
        Row row;
        for (std::size_t i = 0; i < kColumns; ++i) {
          const absl::int128 sum = RandomSum(channels[i]);
          SetBits(clock_->sums_i, 128 * i, 64, absl::Int128Low64(sum));
          SetBits(clock_->sums_i, 128 * i + 64, 64, static_cast<std::uint64_t>(absl::Int128High64(sum)));
          row[i] = Int32ScaledOutputOf(sum, channels[i], output);
        }
        if (clock_->valid_i != 0) expected_.push_back({Word(row), cycle == 0});
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
    bool first;
  };
  std::mt19937_64 random_{29};
  Clock<Vtensor_int32> clock_;
  std::deque<std::optional<Sums>> on_their_way_;
  Channels channels_{};  // that are offered
  std::deque<Result> expected_;
  int compared_ = 0;
};

TEST_F(TensorInt32DenseTest, AddsTheProductsOfEveryTile) {
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

TEST_F(TensorInt32DenseTest, ScalesAndLimitsSumsBitForBit) {
  OfferChannels();
  for (int run = 0; run < 200 && !HasFailure(); ++run) Blocks(20);
  EXPECT_GT(compared_, 25'000);
}

}  // namespace
}  // namespace tributary::fpga
