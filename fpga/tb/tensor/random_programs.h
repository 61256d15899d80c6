// Random programs on a kernel and on the golden model.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_float32.h"
#include "fpga/model/tensor_words.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/tensor/random_tensor_program.h"
#include "fpga/tb/tensor/tensor_bench.h"
#include "gtest/gtest.h"

namespace tributary::fpga {

template <class Top>
void ExpectRandomProgramsMatch(TensorBench<Top>& bench, std::uint64_t programs) {
  const TensorUnitSize size = bench.golden.size();
  const bool timed_bursts = size.lanes > 8;  // bursts of 64 words, as the model of the cycles has them
  // Two or three of eight commands have another precision, if there is one.
  const int others = size.bfloat16 + size.int16 + size.int32 + size.float32;
  const std::uint64_t least = others != 0 ? programs / 2 : programs;
  // What each of them gets; one in three of those of 16 bits has results of 32.
  const auto least_of = [&](bool built, std::uint64_t one_in) {
    return built ? programs / (one_in * static_cast<std::uint64_t>(others)) : 0;
  };
  Coverage coverage;
  std::uint64_t& convolve = coverage.Point("convolutions", least);
  std::uint64_t& depthwise = coverage.Point("depthwise convolutions", least);
  std::uint64_t& pools = coverage.Point("pools", least);
  std::uint64_t& residuals = coverage.Point("residuals", least);
  std::uint64_t& in_place = coverage.Point("residuals that are overwritten");
  std::uint64_t& padded = coverage.Point("paddings", programs);
  std::uint64_t& strided = coverage.Point("strides", programs);
  std::uint64_t& timed = coverage.Point("programs on a bus without pauses", timed_bursts ? 1 : 0);
  std::uint64_t& kept = coverage.Point("words kept", 100);
  std::uint64_t& bfloat = coverage.Point("convolutions in bfloat16", least_of(size.bfloat16, 1));
  std::uint64_t& float_sums = coverage.Point("results of float32 in bfloat16", least_of(size.bfloat16, 3));
  std::uint64_t& int16 = coverage.Point("convolutions in int16", least_of(size.int16, 1));
  std::uint64_t& results32 = coverage.Point("results of int32 in int16", least_of(size.int16, 3));
  std::uint64_t& int32 = coverage.Point("convolutions in int32", least_of(size.int32, 1));
  std::uint64_t& float32 = coverage.Point("convolutions in float32", least_of(size.float32, 1));
  std::uint64_t& compared =
      coverage.Point("words compared", programs * size.activations * size.vector_words());
  for (std::uint64_t i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    RandomTensorProgram program(size, i);
    const std::vector<std::uint64_t> input = program.Input();
    bench.kernel.memory_port().set_timing(
        {.latency_clocks = i % 3 == 0 ? 40u : 8u, .stall = 0.25 * static_cast<double>(i % 4), .seed = 5});
    // Without a LOAD the program works on what the one before left.
    std::vector<std::uint64_t> words = program.Make(8, i % 5 != 4);
    if (i % 3 == 1) {
      const KeptTensorProgram parts = KeepTensorWeights(words, size);
      EXPECT_EQ(bench.Compare(parts.first, input, input.size()).status, TensorStatus::kOk) << "program " << i;
      words = parts.later;
      kept += parts.kept_words;
    }
    const TensorRun run = bench.Compare(words, input, input.size());
    EXPECT_EQ(run.status, TensorStatus::kOk) << "program " << i;
    if (i % 12 == 4 && timed_bursts) {
      const auto cycles = static_cast<double>(bench.golden_run.cycles);
      EXPECT_NEAR(static_cast<double>(run.cycles), cycles, 0.02 * cycles + 25 * 11) << "program " << i;
      ++timed;
    }
    convolve += program.counts.convolve, depthwise += program.counts.depthwise, pools += program.counts.pool;
    residuals += program.counts.residual, in_place += program.counts.in_place;
    padded += program.counts.padded, strided += program.counts.strided;
    bfloat += program.counts.bfloat, float_sums += program.counts.float_sums;
    int16 += program.counts.int16, results32 += program.counts.results32;
    int32 += program.counts.int32, float32 += program.counts.float32;
  }
  compared = bench.compared;
}

// Chains of convolutions in one precision alone. Calls count(value) for the values of every changed word, and
// returns what the programs had.
template <typename Value, class Top, typename Count>
RandomTensorProgram::Counts ExpectChainsMatch(TensorBench<Top>& bench, TensorPrecision precision,
                                              std::uint64_t programs, Count count) {
  const TensorUnitSize size = bench.golden.size();
  const bool timed_bursts = size.lanes > 8;
  // With small memories one program of three waits for each of its tiles.
  const double pause = timed_bursts ? 0.25 : 0.45;
  RandomTensorProgram::Counts counts;
  for (std::uint64_t i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    RandomTensorProgram program(size, 1000 * static_cast<std::uint64_t>(precision) + 5000 + i);
    const std::vector<std::uint64_t> input = program.ChainInput(precision);
    bench.kernel.memory_port().set_timing(
        {.latency_clocks = 8, .stall = pause * static_cast<double>(i % 3), .seed = 5});
    const TensorRun run = bench.Compare(program.MakeChain(3, precision), input, input.size());
    EXPECT_EQ(run.status, TensorStatus::kOk) << "program " << i;
    if (i % 3 == 0 && timed_bursts) {
      const auto cycles = static_cast<double>(bench.golden_run.cycles);
      EXPECT_NEAR(static_cast<double>(run.cycles), cycles, 0.02 * cycles + 25 * 6) << "program " << i;
    }
    for (std::size_t word = 0; word < input.size(); ++word) {
      if (bench.memory.output[word] == input[word]) continue;
      for (std::size_t at = 0; at < 8 / sizeof(Value); ++at) {
        count(ValueAt<Value>(std::span(bench.memory.output).subspan(word, 1), at));
      }
    }
    counts.float_sums += program.counts.float_sums;
    counts.results32 += program.counts.results32;
  }
  return counts;
}

// Results that are mostly finite. `Bits`: uint16_t for bfloat16, uint32_t for float32.
template <typename Bits, class Top>
void ExpectFloatProgramsMatch(TensorBench<Top>& bench, std::uint64_t programs) {
  constexpr bool kBfloat = sizeof(Bits) == 2;
  constexpr auto kInfinity = static_cast<Bits>(kBfloat ? kBfloat16Infinity : kFloat32Infinity);
  constexpr auto kSizeBits = static_cast<Bits>(std::numeric_limits<Bits>::max() / 2);
  Coverage coverage;
  std::uint64_t& finite = coverage.Point("results that are finite and not 0", 100 * programs);
  std::uint64_t& zero = coverage.Point("results of 0", programs);
  std::uint64_t& infinite = coverage.Point("infinite results", programs);
  std::uint64_t& nan = coverage.Point("results that are NaN", programs / 4);
  std::uint64_t& float_sums = coverage.Point("results of float32 in bfloat16", kBfloat ? programs / 4 : 0);
  const TensorPrecision precision = kBfloat ? TensorPrecision::kBfloat16 : TensorPrecision::kFloat32;
  float_sums =
      ExpectChainsMatch<Bits>(bench, precision, programs, [&](Bits value) {
        const auto size_of = static_cast<Bits>(value & kSizeBits);
        ++(size_of == 0 ? zero : size_of < kInfinity ? finite : size_of == kInfinity ? infinite : nan);
      }).float_sums;
}

template <class Top>
void ExpectInt16ProgramsMatch(TensorBench<Top>& bench, std::uint64_t programs) {
  Coverage coverage;
  std::uint64_t& within = coverage.Point("results within the limits", 100 * programs);
  std::uint64_t& extreme = coverage.Point("results at the ends of int16", 10 * programs);
  std::uint64_t& int32 = coverage.Point("results of int32", programs / 4);
  int32 = ExpectChainsMatch<std::int16_t>(bench, TensorPrecision::kInt16, programs, [&](std::int16_t value) {
            ++(value == INT16_MAX || value == INT16_MIN ? extreme : within);
          }).results32;
}

template <class Top>
void ExpectInt32ProgramsMatch(TensorBench<Top>& bench, std::uint64_t programs) {
  Coverage coverage;
  std::uint64_t& large = coverage.Point("results of more than 16 bits within the limits", 50 * programs);
  std::uint64_t& extreme = coverage.Point("results at the ends of int32", 5 * programs);
  ExpectChainsMatch<std::int32_t>(bench, TensorPrecision::kInt32, programs, [&](std::int32_t value) {
    if (value == INT32_MAX || value == INT32_MIN) {
      ++extreme;
    } else if (value > INT16_MAX || value < INT16_MIN) {
      ++large;
    }
  });
}

}  // namespace tributary::fpga
