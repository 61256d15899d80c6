// The part of the unit for one precision of floats with 8 lanes alone, as RTL and as netlist: matrix, adders
// and output stage. Tiles follow each other as closely as they may, and their weights come as early and as
// late as allowed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <random>

#include "Vtensor_float.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/tensor/random_floats.h"
#include "gtest/gtest.h"

namespace tributary::fpga {

// Format: `Bits` of a number; Next(numbers, random); AddGroup(sum, activations, weights); ResultOf(sum, low,
// high); SetLimits(command words, low, high); kTwoVectors: there are results of float32 beside those of the
// format.
template <typename Format>
class FloatDenseBench : public testing::Test {
 protected:
  using Bits = typename Format::Bits;
  static constexpr std::size_t kColumns = 8 / sizeof(Bits);
  static constexpr int kPixels = 64;
  static constexpr int kLeastTile = 9;  // cycles between two visits of a pixel
  using Row = std::array<Bits, kColumns>;
  using Tile = std::array<Row, kColumns>;  // [input][output]
  using Sums = std::array<std::uint32_t, kColumns>;

  // Blocks of random tiles with random numbers of every kind.
  void Run(int runs) {
    clock_.Reset();
    for (int run = 0; run < runs && !HasFailure(); ++run) {
      numbers_.Choose(random_);
      Blocks(20, Format::kTwoVectors && run % 3 == 0);
    }
  }

  int compared_ = 0;

 private:
  struct Result {
    std::uint64_t word;
    bool first, second, last;
  };

  static std::uint64_t Word(const Row& row) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < kColumns; ++i) word |= std::uint64_t{row[i]} << (8 * sizeof(Bits) * i);
    return word;
  }
  Bits Next() { return Format::Next(numbers_, random_); }
  Row RandomRow() {
    Row row;
    for (Bits& value : row) value = Next();
    return row;
  }
  Tile RandomTile() {
    Tile tile;
    for (Row& row : tile) row = RandomRow();
    return tile;
  }

  // A port of a word for each column, as Verilator has it: an array, or 64 bits.
  template <typename Port>
  static void Put(Port& port, const Sums& sums) {
    if constexpr (kColumns == 2) {
      port = std::uint64_t{sums[1]} << 32 | sums[0];
    } else {
      std::ranges::copy(sums, std::begin(port.m_storage));
    }
  }
  template <typename Port>
  static Sums Get(const Port& port) {
    Sums sums;
    if constexpr (kColumns == 2) {
      sums = {static_cast<std::uint32_t>(port), static_cast<std::uint32_t>(port >> 32)};
    } else {
      std::copy_n(std::begin(port.m_storage), kColumns, sums.begin());
    }
    return sums;
  }

  // One cycle: compares a result, and is the memory of the accumulators.
  void Cycle() {
    if (!biases_.empty()) Put(clock_->biases_i, biases_.front());
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
    if (clock_->biases_taken_o != 0) {
      ASSERT_FALSE(biases_.empty());
      biases_.pop_front();
    }
    const std::size_t read = clock_->read_pixel_o, written = clock_->pixel_o;
    const bool writes = clock_->write_o != 0;
    const Sums sums = Get(clock_->sums_o), stored = memory_[read];
    clock_.Edge();
    Put(clock_->stored_i, stored);
    if (writes) memory_[written] = sums;
  }

  void Idle(int cycles) {
    clock_->valid_i = clock_->shift_i = 0;
    for (int i = 0; i < cycles; ++i) Cycle();
  }

  void Expect(const Sums& sums, bool first, bool two_vectors, Bits low, Bits high) {
    if (two_vectors) {
      expected_.push_back({std::uint64_t{sums[1]} << 32 | sums[0], first, false, false});
      expected_.push_back({std::uint64_t{sums[kColumns - 1]} << 32 | sums[kColumns - 2], false, true, true});
      return;
    }
    Row row;
    std::ranges::transform(sums, row.begin(),
                           [&](std::uint32_t sum) { return Format::ResultOf(sum, low, high); });
    expected_.push_back({Word(row), first, false, true});
  }

  // Blocks of 1 to 3 tiles. The first tile's weights are there; each tile brings those of the next one.
  void Blocks(int blocks, bool two_vectors) {
    const Bits low = random_() % 2 == 0 ? Bits{0} : Next(), high = Next();
    clock_->command_i.m_storage[0] = two_vectors ? 1u << 20 : 0;
    Format::SetLimits(clock_->command_i.m_storage, low, high);
    Tile next = RandomTile();
    for (const Row& row : next) {
      clock_->weights_i = Word(row);
      clock_->shift_i = 1;
      Cycle();
    }
    for (int block = 0; block < blocks; ++block) {
      const int tiles = 1 + static_cast<int>(random_() % 3), pixels = 1 + static_cast<int>(random_() % 20);
      std::array<Sums, kPixels> sums;
      Sums biases;
      for (std::uint32_t& bias : biases) bias = numbers_.NextFloat32(random_);
      biases_.push_back(biases);
      sums.fill(biases);
      for (int tile = 0; tile < tiles; ++tile) {
        const Tile present = next;
        next = RandomTile();
        const bool last = tile == tiles - 1;
        const int pace = last && two_vectors ? 2 : 1;
        // One tile of four waits for the next one's weights.
        const int waits = random_() % 4 == 0 ? static_cast<int>(random_() % 30) : 0;
        const int cycles = std::max(pixels * pace, kLeastTile) + waits;
        const int rows_from = random_() % 2 == 0 ? 0 : cycles - static_cast<int>(kColumns);
        for (int cycle = 0; cycle < cycles; ++cycle) {
          const int row = cycle - rows_from, pixel = cycle / pace;
          clock_->shift_i = row >= 0 && row < static_cast<int>(kColumns);
          clock_->weights_i = clock_->shift_i != 0 ? Word(next[static_cast<std::size_t>(row)]) : random_();
          clock_->valid_i = cycle % pace == 0 && pixel < pixels;
          clock_->first_i = pixel == 0;
          clock_->begins_i = tile == 0;
          clock_->yields_i = last && clock_->valid_i != 0;
          clock_->first_output_i = pixel == 0 && last;
          clock_->pixel_i = static_cast<std::uint8_t>(pixel < pixels ? pixel : 0);
          const Row vector = RandomRow();
          clock_->vector_i = Word(vector);
          if (clock_->valid_i != 0) {
            Sums& sum = sums[static_cast<std::size_t>(pixel)];
            for (std::size_t column = 0; column < kColumns; ++column) {
              Row weights;
              for (std::size_t input = 0; input < kColumns; ++input) weights[input] = present[input][column];
              sum[column] = Format::AddGroup(sum[column], vector, weights);
            }
            if (last) Expect(sum, pixel == 0, two_vectors, low, high);
          }
          Cycle();
          if (HasFatalFailure()) return;
        }
      }
    }
    Idle(40);
    EXPECT_TRUE(expected_.empty());
  }

  std::mt19937_64 random_{23};
  RandomFloats numbers_;
  Clock<Vtensor_float> clock_;
  std::array<Sums, kPixels> memory_{};
  std::deque<Sums> biases_;
  std::deque<Result> expected_;
};

}  // namespace tributary::fpga
