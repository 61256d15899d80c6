// Random programs on a kernel and on the golden model.
#pragma once

#include <cstdint>
#include <vector>

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
  const std::uint64_t least = size.bfloat16 || size.int16 || size.int32 ? programs / 2 : programs;
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
  std::uint64_t& bfloat = coverage.Point("convolutions in bfloat16", size.bfloat16 ? programs / 2 : 0);
  std::uint64_t& float32 = coverage.Point("results of float32", size.bfloat16 ? programs / 6 : 0);
  std::uint64_t& int16 = coverage.Point("convolutions in int16", size.int16 ? programs / 2 : 0);
  std::uint64_t& results32 = coverage.Point("results of int32 in int16", size.int16 ? programs / 6 : 0);
  std::uint64_t& int32 = coverage.Point("convolutions in int32", size.int32 ? programs / 2 : 0);
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
    bfloat += program.counts.bfloat, float32 += program.counts.float32;
    int16 += program.counts.int16, results32 += program.counts.results32;
    int32 += program.counts.int32;
  }
  compared = bench.compared;
}

// Chains of convolutions in bfloat16 alone, whose results are mostly finite.
template <class Top>
void ExpectBfloatProgramsMatch(TensorBench<Top>& bench, std::uint64_t programs) {
  const TensorUnitSize size = bench.golden.size();
  const bool timed_bursts = size.lanes > 8;
  Coverage coverage;
  std::uint64_t& finite = coverage.Point("results that are finite and not 0", 100 * programs);
  std::uint64_t& zero = coverage.Point("results of 0", programs);
  std::uint64_t& infinite = coverage.Point("infinite results", programs);
  std::uint64_t& nan = coverage.Point("results that are NaN", programs);
  std::uint64_t& float32 = coverage.Point("results of float32", programs / 4);
  for (std::uint64_t i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    RandomTensorProgram program(size, 5000 + i);
    const std::vector<std::uint64_t> input = program.BfloatInput();
    bench.kernel.memory_port().set_timing(
        {.latency_clocks = 8, .stall = 0.25 * static_cast<double>(i % 3), .seed = 5});
    const TensorRun run = bench.Compare(program.MakeBfloat(3), input, input.size());
    EXPECT_EQ(run.status, TensorStatus::kOk) << "program " << i;
    if (i % 3 == 0 && timed_bursts) {
      const auto cycles = static_cast<double>(bench.golden_run.cycles);
      EXPECT_NEAR(static_cast<double>(run.cycles), cycles, 0.02 * cycles + 25 * 6) << "program " << i;
    }
    for (std::size_t word = 0; word < input.size(); ++word) {
      if (bench.memory.output[word] == input[word]) continue;
      for (const int shift : {0, 16, 32, 48}) {
        const auto size_of = static_cast<std::uint16_t>(bench.memory.output[word] >> shift & 0x7fff);
        ++(size_of == 0 ? zero : size_of < 0x7f80 ? finite : size_of == 0x7f80 ? infinite : nan);
      }
    }
    float32 += program.counts.float32;
  }
}

// Chains of convolutions in int16 alone.
template <class Top>
void ExpectInt16ProgramsMatch(TensorBench<Top>& bench, std::uint64_t programs) {
  const TensorUnitSize size = bench.golden.size();
  const bool timed_bursts = size.lanes > 8;
  Coverage coverage;
  std::uint64_t& within = coverage.Point("results within the limits", 100 * programs);
  std::uint64_t& extreme = coverage.Point("results at the ends of int16", 10 * programs);
  std::uint64_t& int32 = coverage.Point("results of int32", programs / 4);
  for (std::uint64_t i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    RandomTensorProgram program(size, 7000 + i);
    const std::vector<std::uint64_t> input = program.Int16Input();
    bench.kernel.memory_port().set_timing(
        {.latency_clocks = 8, .stall = 0.25 * static_cast<double>(i % 3), .seed = 5});
    const TensorRun run = bench.Compare(program.MakeInt16(3), input, input.size());
    EXPECT_EQ(run.status, TensorStatus::kOk) << "program " << i;
    if (i % 3 == 0 && timed_bursts) {
      const auto cycles = static_cast<double>(bench.golden_run.cycles);
      EXPECT_NEAR(static_cast<double>(run.cycles), cycles, 0.02 * cycles + 25 * 6) << "program " << i;
    }
    for (std::size_t word = 0; word < input.size(); ++word) {
      if (bench.memory.output[word] == input[word]) continue;
      for (const int shift : {0, 16, 32, 48}) {
        const auto value = static_cast<std::int16_t>(bench.memory.output[word] >> shift);
        ++(value == 32767 || value == -32768 ? extreme : within);
      }
    }
    int32 += program.counts.results32;
  }
}

// Chains of convolutions in int32 alone.
template <class Top>
void ExpectInt32ProgramsMatch(TensorBench<Top>& bench, std::uint64_t programs) {
  const TensorUnitSize size = bench.golden.size();
  const bool timed_bursts = size.lanes > 8;
  Coverage coverage;
  std::uint64_t& large = coverage.Point("results of more than 16 bits within the limits", 50 * programs);
  std::uint64_t& extreme = coverage.Point("results at the ends of int32", 5 * programs);
  for (std::uint64_t i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    RandomTensorProgram program(size, 9000 + i);
    const std::vector<std::uint64_t> input = program.Int32Input();
    bench.kernel.memory_port().set_timing(
        {.latency_clocks = 8, .stall = 0.25 * static_cast<double>(i % 3), .seed = 5});
    const TensorRun run = bench.Compare(program.MakeInt32(3), input, input.size());
    EXPECT_EQ(run.status, TensorStatus::kOk) << "program " << i;
    if (i % 3 == 0 && timed_bursts) {
      const auto cycles = static_cast<double>(bench.golden_run.cycles);
      EXPECT_NEAR(static_cast<double>(run.cycles), cycles, 0.02 * cycles + 25 * 6) << "program " << i;
    }
    for (std::size_t word = 0; word < input.size(); ++word) {
      if (bench.memory.output[word] == input[word]) continue;
      for (const int shift : {0, 32}) {
        const auto value = static_cast<std::int32_t>(bench.memory.output[word] >> shift);
        if (value == INT32_MAX || value == INT32_MIN) {
          ++extreme;
        } else if (value > INT16_MAX || value < INT16_MIN) {
          ++large;
        }
      }
    }
  }
}

}  // namespace tributary::fpga
