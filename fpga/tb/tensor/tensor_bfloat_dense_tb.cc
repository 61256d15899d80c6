// The bfloat16 part of the unit with 8 lanes alone, as RTL and as netlist: matrix, adders and output stage.
// Tiles follow each other as closely as they may, and their weights come as early and as late as allowed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <random>

#include "Vtensor_float.h"
#include "fpga/model/tensor_bfloat.h"
#include "fpga/tb/common/clock.h"
#include "fpga/tb/tensor/random_bfloats.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kColumns = 4;
constexpr int kPixels = 64;
constexpr int kLeastTile = 9;  // cycles between two visits of a pixel

using Row = std::array<std::uint16_t, kColumns>;
using Tile = std::array<Row, kColumns>;  // [input][output]
using Sums = std::array<std::uint32_t, kColumns>;

class TensorBfloatDenseTest : public testing::Test {
 protected:
  struct Result {
    std::uint64_t word;
    bool first, second, last;
  };

  static std::uint64_t Word(const Row& row) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < kColumns; ++i) word |= std::uint64_t{row[i]} << (16 * i);
    return word;
  }
  Row RandomRow() {
    Row row;
    for (std::uint16_t& value : row) value = numbers_.Next(random_);
    return row;
  }
  Tile RandomTile() {
    Tile tile;
    for (Row& row : tile) row = RandomRow();
    return tile;
  }

  // One cycle: compares a result, and is the memory of the accumulators.
  void Cycle() {
    if (!biases_.empty()) std::ranges::copy(biases_.front(), std::begin(clock_->biases_i.m_storage));
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
    Sums sums, stored = memory_[read];
    std::copy_n(std::begin(clock_->sums_o.m_storage), kColumns, sums.begin());
    clock_.Edge();
    std::ranges::copy(stored, std::begin(clock_->stored_i.m_storage));
    if (writes) memory_[written] = sums;
  }

  void Idle(int cycles) {
    clock_->valid_i = clock_->shift_i = 0;
    for (int i = 0; i < cycles; ++i) Cycle();
  }

  void Expect(const Sums& sums, bool first, bool float32, std::uint16_t low, std::uint16_t high) {
    if (float32) {
      expected_.push_back({std::uint64_t{sums[1]} << 32 | sums[0], first, false, false});
      expected_.push_back({std::uint64_t{sums[3]} << 32 | sums[2], false, true, true});
      return;
    }
    Row row;
    std::ranges::transform(sums, row.begin(),
                           [&](std::uint32_t sum) { return BfloatOutputOf(sum, low, high); });
    expected_.push_back({Word(row), first, false, true});
  }

  // Blocks of 1 to 3 tiles. The first tile's weights are there; each tile brings those of the next one.
  void Blocks(int blocks, bool float32) {
    const std::uint16_t low = random_() % 2 == 0 ? 0 : numbers_.Next(random_), high = numbers_.Next(random_);
    clock_->command_i.m_storage[0] = float32 ? 1u << 20 : 0;
    clock_->command_i.m_storage[12] = static_cast<std::uint32_t>(low) << 16;
    clock_->command_i.m_storage[13] = high;
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
      for (std::uint32_t& bias : biases)
        bias = std::uint32_t{numbers_.Next(random_)} << 16 | random_() % 0x10000;
      biases_.push_back(biases);
      sums.fill(biases);
      for (int tile = 0; tile < tiles; ++tile) {
        const Tile present = next;
        next = RandomTile();
        const bool last = tile == tiles - 1;
        const int pace = last && float32 ? 2 : 1;
        const int cycles = std::max(pixels * pace, kLeastTile);
        const int rows_from = random_() % 2 == 0 ? 0 : cycles - static_cast<int>(kColumns);
        for (int cycle = 0; cycle < cycles; ++cycle) {
          const int row = cycle - rows_from, pixel = cycle / pace;
          clock_->shift_i = row >= 0 && row < static_cast<int>(kColumns);
          clock_->weights_i = clock_->shift_i != 0 ? Word(next[static_cast<std::size_t>(row)]) : random_();
          clock_->valid_i = cycle % pace == 0 && pixel < pixels;
          clock_->first_i = pixel == 0;
          clock_->begins_i = tile == 0;
          clock_->yields_i = last;
          clock_->first_output_i = pixel == 0 && last;
          clock_->pixel_i = static_cast<std::uint8_t>(pixel % kPixels);
          const Row vector = RandomRow();
          clock_->vector_i = Word(vector);
          if (clock_->valid_i != 0) {
            Sums& sum = sums[static_cast<std::size_t>(pixel)];
            for (std::size_t column = 0; column < kColumns; ++column) {
              Row weights;
              for (std::size_t input = 0; input < kColumns; ++input) weights[input] = present[input][column];
              sum[column] = AddBfloatGroup(sum[column], vector, weights);
            }
            if (last) Expect(sum, pixel == 0, float32, low, high);
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
  RandomBfloats numbers_;
  Clock<Vtensor_float> clock_;
  std::array<Sums, kPixels> memory_{};
  std::deque<Sums> biases_;
  std::deque<Result> expected_;
  int compared_ = 0;
};

TEST_F(TensorBfloatDenseTest, AddsGroupsBitForBit) {
  clock_.Reset();
  for (int run = 0; run < 200 && !HasFailure(); ++run) {
    numbers_.Choose(random_);
    Blocks(20, run % 3 == 0);
  }
  EXPECT_GT(compared_, 40'000);
}

}  // namespace
}  // namespace tributary::fpga
