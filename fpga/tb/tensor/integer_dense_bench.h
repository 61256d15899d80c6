// The part of the unit for int16 or int32 with 8 lanes alone, as RTL and as netlist: the matrix, and the
// output stage. Tiles and blocks follow each other as closely as they may.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>

#include "absl/numeric/int128.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/tensor/wide_port.h"
#include "gtest/gtest.h"

namespace tributary::fpga {

// Format: Top; Value, Sum and Channel; Output, what word 6 has; kLatency of the matrix and kProductBits of
// its sums; RandomChannel, RandomSum and RandomOutput; SetOutput(command, output); Encode(channel);
// ResultOf(sum, channel, output). kTwoVectors: there are results of int32, too, Result32Of(sum, channel).
template <typename Format>
class IntegerDenseBench : public testing::Test {
 protected:
  IntegerDenseBench() { clock_.Reset(); }

  void AddTiles(int tiles) {
    Tile next = RandomTile();
    for (const Row& row : next) {
      clock_->weights_i = Word(row);
      clock_->shift_i = 1;
      MatrixCycle(std::nullopt);
    }
    for (int tile = 0; tile < tiles && !HasFailure(); ++tile) {
      const Tile present = std::exchange(next, RandomTile());
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
  }

  // Runs of blocks with random channels and limits; one run of three has results of 32 bits, if there are
  // any.
  void ScaleBlocks(int runs) {
    OfferChannels();
    for (int run = 0; run < runs && !HasFailure(); ++run) Blocks(20, Format::kTwoVectors && run % 3 == 0);
  }

  int compared_ = 0;

 private:
  using Value = typename Format::Value;
  using Sum = typename Format::Sum;
  using Output = typename Format::Output;
  static constexpr std::size_t kColumns = 8 / sizeof(Value);
  static constexpr int kLeastTile = 4;   // cycles between two tiles
  static constexpr int kLeastBlock = 6;  // cycles between two blocks in the output stage
  static constexpr unsigned kChannelBits = 53;
  using Row = std::array<Value, kColumns>;
  using Tile = std::array<Row, kColumns>;  // [input][output]
  using Sums = std::array<Sum, kColumns>;
  using Channels = std::array<typename Format::Channel, kColumns>;
  struct Result {
    std::uint64_t word;
    bool first, second, last;
  };

  template <typename Integer>
  static std::uint64_t Bits(Integer value) {
    return static_cast<std::make_unsigned_t<Integer>>(value);
  }
  static std::uint64_t Word(const Row& row) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < kColumns; ++i) word |= Bits(row[i]) << (8 * sizeof(Value) * i);
    return word;
  }
  Row RandomRow() {
    Row row;
    for (Value& value : row) {
      value = random_() % 4 == 0 ? std::numeric_limits<Value>::min() : static_cast<Value>(random_());
    }
    return row;
  }
  Tile RandomTile() {
    Tile tile;
    for (Row& row : tile) row = RandomRow();
    return tile;
  }

  Sum ProductsOf(std::size_t column) {
    const std::size_t from = Format::kProductBits * column;
    if constexpr (sizeof(Sum) == 8) {
      return SignedBits(clock_->products_o, from, Format::kProductBits);
    } else {
      return absl::MakeInt128(SignedBits(clock_->products_o, from + 64, Format::kProductBits - 64),
                              Bits(SignedBits(clock_->products_o, from, 64)));
    }
  }
  void SetSum(std::size_t column, const Sum& sum) {
    if constexpr (sizeof(Sum) == 8) {
      SetBits(clock_->sums_i, 64 * column, 64, Bits(sum));
    } else {
      SetBits(clock_->sums_i, 128 * column, 64, absl::Int128Low64(sum));
      SetBits(clock_->sums_i, 128 * column + 64, 64, Bits(absl::Int128High64(sum)));
    }
  }

  // One cycle of the matrix; `products`: of the vector that enters.
  void MatrixCycle(const std::optional<Sums>& products) {
    clock_.Settle();
    on_their_way_.push_back(products);
    if (on_their_way_.size() > Format::kLatency) {
      if (const std::optional<Sums> expected = on_their_way_.front()) {
        for (std::size_t column = 0; column < kColumns; ++column) {
          EXPECT_TRUE(ProductsOf(column) == (*expected)[column]);
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
      if constexpr (Format::kTwoVectors) {
        EXPECT_EQ(clock_->second_o != 0, result.second);
        EXPECT_EQ(clock_->last_o != 0, result.last);
      }
      expected_.pop_front();
      ++compared_;
    }
    const bool taken = clock_->channels_taken_o != 0;
    clock_.Edge();
    if (taken) OfferChannels();
  }

  void OfferChannels() {
    for (std::size_t column = 0; column < kColumns; ++column) {
      channels_[column] = Format::RandomChannel(random_);
      const auto words = Format::Encode(channels_[column]);
      for (std::size_t i = 0; i < words.size(); ++i) {
        SetBits(clock_->channels_i, kChannelBits * (words.size() * column + i), kChannelBits, words[i]);
      }
    }
  }

  void Expect(const Sums& sums, bool first, bool two_vectors, const Channels& channels,
              const Output& output) {
    if constexpr (Format::kTwoVectors) {
      if (two_vectors) {
        const auto bits = [&](std::size_t i) { return Bits(Format::Result32Of(sums[i], channels[i])); };
        expected_.push_back({bits(1) << 32 | bits(0), first, false, false});
        expected_.push_back({bits(3) << 32 | bits(2), false, true, true});
        return;
      }
    }
    Row row;
    for (std::size_t i = 0; i < kColumns; ++i) row[i] = Format::ResultOf(sums[i], channels[i], output);
    expected_.push_back({Word(row), first, false, true});
  }

  // Blocks of 1 to 12 pixels.
  void Blocks(int blocks, bool two_vectors) {
    const Output output = Format::RandomOutput(random_);
    SetBits(clock_->command_i, 16 + 4, 1, two_vectors ? 1 : 0);
    Format::SetOutput(clock_->command_i, output);
    const int pace = two_vectors ? 2 : 1;
    for (int block = 0; block < blocks; ++block) {
      const int pixels = 1 + static_cast<int>(random_() % 12);
      const Channels channels = channels_;
      for (int cycle = 0; cycle < std::max(pixels * pace, kLeastBlock); ++cycle) {
        clock_->valid_i = cycle % pace == 0 && cycle / pace < pixels;
        clock_->first_i = cycle == 0;
        Sums sums;
        for (std::size_t i = 0; i < kColumns; ++i) {
          sums[i] = Format::RandomSum(random_, channels[i]);
          SetSum(i, sums[i]);
        }
        if (clock_->valid_i != 0) Expect(sums, cycle == 0, two_vectors, channels, output);
        OutputCycle();
        if (HasFatalFailure()) return;
      }
    }
    clock_->valid_i = 0;
    for (int cycle = 0; cycle < 20; ++cycle) OutputCycle();
    EXPECT_TRUE(expected_.empty());
  }

  std::mt19937_64 random_{29};
  Clock<typename Format::Top> clock_;
  std::deque<std::optional<Sums>> on_their_way_;
  Channels channels_{};  // that are offered
  std::deque<Result> expected_;
};

}  // namespace tributary::fpga
