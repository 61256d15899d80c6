// The tensor kernel with 8 lanes and small memories, whose ends are near, against the golden model.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "Vtensor_small.h"
#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/tb/common/coverage.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr TensorUnitSize kSize = {.lanes = 8,
                                  .activations = 1024,
                                  .pixels = 64,
                                  .line = 32,
                                  .kept = 256,
                                  .bfloat16 = true,
                                  .int16 = true,
                                  .int32 = true,
                                  .float32 = true};

class TensorSmallTest : public testing::Test {
 protected:
  // A right program on random data, compared word by word.
  void ExpectARightRun(std::uint64_t seed) {
    RandomTensorProgram program(kSize, seed);
    const std::vector<std::uint64_t> input = program.Input();
    EXPECT_EQ(bench_.Compare(program.Make(2), input, input.size()).status, TensorStatus::kOk) << seed;
  }
  TensorBench<Vtensor_small> bench_{kSize};
  std::mt19937_64 random_{12};
};

TEST_F(TensorSmallTest, MatchesTheGoldenModelInBfloat16) {
  ExpectFloatProgramsMatch<std::uint16_t>(bench_, 60);
}

TEST_F(TensorSmallTest, MatchesTheGoldenModelInInt16) { ExpectInt16ProgramsMatch(bench_, 60); }

TEST_F(TensorSmallTest, MatchesTheGoldenModelInInt32) { ExpectInt32ProgramsMatch(bench_, 60); }

TEST_F(TensorSmallTest, MatchesTheGoldenModelInFloat32) {
  ExpectFloatProgramsMatch<std::uint32_t>(bench_, 60);
}

TEST_F(TensorSmallTest, AddsSumsOfInt16ThatFortyEightBitsDoNotHold) {
  // 2^18 products of 2^30: 16 × 16 taps of 256 input blocks, which all are the same vectors.
  const TensorCommand command = {.flags = kTensorInt32,
                                 .input_height = 16,
                                 .input_width = 16,
                                 .output_height = 1,
                                 .output_width = 1,
                                 .kernel_height = 16,
                                 .kernel_width = 16,
                                 .stride_y = 1,
                                 .stride_x = 1,
                                 .output_address = 256,
                                 .output_plane = 1};
  constexpr std::uint32_t kInputs = 256 * 4;
  std::vector<std::int16_t> weights(std::size_t{4} * kInputs * 256, -32768);
  std::fill(weights.begin() + kInputs * 256, weights.begin() + 2 * kInputs * 256, std::int16_t{16384});
  std::vector<TensorInt16Channel> channels(4, TensorInt16Channel{.shift = 8 + 20});
  channels[2].bias = std::int64_t{1} << 46;
  channels[3].bias = -(std::int64_t{1} << 47);
  TensorProgramBuilder program(kSize);
  program.Load(0, 0, 256);
  ASSERT_TRUE(program.ConvolveInt16(command, 4, kInputs, weights, channels).ok());
  program.Store(256, 0, 2);
  program.End();
  const std::vector<std::uint64_t> input(256, 0x8000'8000'8000'8000);
  ASSERT_EQ(bench_.Compare(program.words(), input, 2).status, TensorStatus::kOk);
  EXPECT_THAT(UnpackInt32Tensor(std::span(bench_.memory.output).first(2), 4, kSize),
              testing::ElementsAre(1 << 28, -(1 << 27), (1 << 28) + (1 << 26), 1 << 27));
}

TEST_F(TensorSmallTest, KeepsTheLastBitOfTheSmallestSums) {
  const TensorCommand command = {.input_plane = 1,
                                 .input_height = 1,
                                 .input_width = 1,
                                 .output_height = 1,
                                 .output_width = 1,
                                 .kernel_height = 1,
                                 .kernel_width = 1,
                                 .stride_y = 1,
                                 .stride_x = 1,
                                 .output_address = 1,
                                 .output_plane = 1};
  const std::vector<float> numbers = {0x1p-63f, 0x1p-75f, 0.0f, 0.0f};
  const std::vector<std::uint16_t> weights = Bfloat16sOf(std::vector<float>{0x1p-63f, 0x1p-74f});
  for (const float bias : {0.0f, -0.0f, 0x1p-130f}) {
    TensorCommand float32 = command;
    float32.flags = kTensorFloat32;
    TensorProgramBuilder program(kSize);
    program.Load(0, 0, 1);
    ASSERT_TRUE(program.ConvolveBfloat(float32, 1, 2, weights, {{bias}}).ok());
    program.Store(1, 0, 1);
    program.End();
    const auto input = PackBfloatTensor(Bfloat16sOf(numbers), 4, kSize);
    EXPECT_EQ(bench_.Compare(program.words(), input, 1).status, TensorStatus::kOk);
    EXPECT_EQ(UnpackFloatTensor(std::span(bench_.memory.output).first(1), 1, kSize)[0],
              0x1p-126f + 0x1p-149f);
  }
}

TEST_F(TensorSmallTest, MatchesTheGoldenModelUnderRandomPrograms) { ExpectRandomProgramsMatch(bench_, 60); }

TEST_F(TensorSmallTest, EndsBadProgramsAtTheirCommandAndGoesOn) {
  Coverage coverage;
  std::uint64_t& faults = coverage.Point("programs at fault", 60);
  std::array<std::uint64_t*, 5> kinds{};
  kinds[1] = &coverage.Point("bad fields", 15);
  kinds[2] = &coverage.Point("bad addresses", 5);
  kinds[3] = &coverage.Point("bad weights", 1);
  kinds[4] = &coverage.Point("programs that end too soon", 5);
  constexpr std::uint64_t kLongest = 200'000;  // cycles: a bit may make a window huge
  for (std::uint64_t seed = 0; seed < 160 && !HasFailure(); ++seed) {
    RandomTensorProgram maker(kSize, 1000 + seed);
    const std::vector<std::uint64_t> input = maker.Input();
    std::vector<std::uint64_t> program = maker.Make(2);
    // A bit of the first computing command, of a weight, or the program's length.
    if (seed % 8 == 7) {
      program.resize(random_() % program.size());
    } else if (seed % 8 == 6) {
      program[16 + random_() % 8] = 0x8080'8080'8080'8080;
    } else {
      const std::uint64_t bit = random_() % 512;
      // What another program has kept is not the same for the fresh model below.
      if (bit == 19) continue;
      program[8 + bit / 64] ^= std::uint64_t{1} << (bit % 64);
    }
    // Its memory is not that of the bench: a bit may let an output meet its input, whose result is not
    // defined.
    TensorUnit golden(kSize);
    std::vector<std::uint64_t> output(input.size());
    const TensorRun expected = golden.Run(program, input, output);
    if (expected.cycles > kLongest) continue;
    const TensorRun run = bench_.Run(program, input, output.size());
    EXPECT_EQ(run.command, expected.command) << seed;
    EXPECT_EQ(run.status == TensorStatus::kOk, expected.status == TensorStatus::kOk) << seed;
    // The unit meets one of several faults first, and the model another.
    if (expected.status == TensorStatus::kBadField) {
      EXPECT_EQ(run.status, expected.status) << seed;
    }
    faults += run.status != TensorStatus::kOk;
    if (const auto kind = static_cast<std::size_t>(run.status); kind > 0 && kind < kinds.size())
      ++*kinds[kind];
    if (run.status != TensorStatus::kOk) ExpectARightRun(seed);
  }
}

TEST_F(TensorSmallTest, RefusesEachFieldAtTheEndOfItsRange) {
  int checked = 0;
  const auto check = [&](auto change, TensorStatus status) {
    SCOPED_TRACE(++checked);
    TensorProgramBuilder program(kSize);
    TensorCommand command = {.opcode = TensorOpcode::kMaxPool,
                             .input_plane = 16,
                             .input_height = 4,
                             .input_width = 4,
                             .output_height = 4,
                             .output_width = 4,
                             .kernel_height = 3,
                             .kernel_width = 3,
                             .stride_y = 1,
                             .stride_x = 1,
                             .output_address = 1008,
                             .output_plane = 16};
    ASSERT_TRUE(program.Pool(command, std::vector<TensorChannel>(8)).ok());
    program.End();
    std::vector<std::uint64_t> words = program.words();
    command.input_blocks = command.output_blocks = 1;
    change(command);
    std::ranges::copy(EncodeTensorCommand(command), words.begin());
    // Whatever the command wants more of is there.
    words.insert(words.end() - kTensorCommandWords, 256 * 8 + 16, 0);
    const TensorRun run = bench_.Compare(words, {}, 0);
    if (status != TensorStatus::kOk) {
      EXPECT_EQ(run.status, status);
      EXPECT_EQ(run.command, 0u);
    }
  };
  using C = TensorCommand;
  constexpr TensorStatus kOk = TensorStatus::kOk, kField = TensorStatus::kBadField,
                         kAddress = TensorStatus::kBadAddress;
  check([](C&) {}, kOk);
  check([](C& c) { c.opcode = static_cast<TensorOpcode>(8); }, kField);
  check([](C& c) { c.precision = static_cast<TensorPrecision>(1); }, kField);
  check([](C& c) { c.input_blocks = 2; }, kField);
  check([](C& c) { c.input_blocks = 0; }, kField);
  check([](C& c) { c.output_blocks = 257; }, kField);
  check([](C& c) { c.input_height = 0; }, kField);
  check([](C& c) { c.input_height = 1024; }, kOk);
  check([](C& c) { c.input_width = 1025; }, kField);
  check([](C& c) { c.output_height = 0; }, kField);
  check([](C& c) { c.output_width = 1025; }, kField);
  check([](C& c) { c.origin_y = -1023; }, kOk);
  check([](C& c) { c.origin_y = -1024; }, kField);
  check([](C& c) { c.origin_x = 1023; }, kOk);
  check([](C& c) { c.origin_x = 1024; }, kField);
  check([](C& c) { c.kernel_height = 0; }, kField);
  check([](C& c) { c.kernel_width = 0; }, kField);
  check([](C& c) { c.stride_y = 8; }, kOk);
  check([](C& c) { c.stride_y = 9; }, kField);
  check([](C& c) { c.stride_x = 0; }, kField);
  check([](C& c) { c.input_address = 1008; }, kOk);
  check([](C& c) { c.input_address = 1009; }, kAddress);
  check([](C& c) { c.input_address = 1024; }, kField);
  check([](C& c) { c.output_address = 1009; }, kAddress);
  check([](C& c) { c.output_address = 1024; }, kField);
  check([](C& c) { c.input_plane = (1 << 17) - 1; }, kOk);
  check([](C& c) { c.input_plane = 1 << 17; }, kField);
  check([](C& c) { c.output_plane = 1 << 17; }, kField);
  check([](C& c) { c.residual_plane = 1 << 17; }, kField);
  check([](C& c) { c.residual_address = 1024; }, kField);
  check([](C& c) { c.residual_address = 1008, c.flags = kTensorResidual; }, kOk);
  check([](C& c) { c.residual_address = 1009, c.flags = kTensorResidual; }, kAddress);
  check([](C& c) { c.output_blocks = 2, c.input_plane = 1009, c.output_address = 0; }, kAddress);
  check([](C& c) { c.flags = 16; }, kField);
  check([](C& c) { c.flags = kTensorKept, c.kept_address = 248; }, kOk);
  check([](C& c) { c.flags = kTensorKept, c.kept_address = 249; }, kAddress);
  check([](C& c) { c.flags = kTensorKept, c.kept_address = 256; }, kAddress);
  check([](C& c) { c.flags = kTensorKept, c.kept_address = 240, c.output_blocks = 3, c.output_address = 0; },
        kAddress);
  const auto keep = [](C& c) { c.opcode = TensorOpcode::kKeep; };
  check([&](C& c) { keep(c), c.input_plane = 0; }, kAddress);
  check([&](C& c) { keep(c), c.input_plane = 256; }, kOk);
  check([&](C& c) { keep(c), c.input_plane = 257; }, kAddress);
  check([&](C& c) { keep(c), c.kept_address = 256, c.input_plane = 1; }, kAddress);
  const auto depthwise = [](C& c) { c.opcode = TensorOpcode::kDepthwise; };
  check([&](C& c) { depthwise(c); }, kOk);
  check([&](C& c) { depthwise(c), c.kernel_width = 2; }, kField);
  check([&](C& c) { depthwise(c), c.kernel_height = 4; }, kField);
  check([&](C& c) { depthwise(c), c.stride_x = 3; }, kField);
  check([&](C& c) { depthwise(c), c.stride_y = 3; }, kField);
  check([&](C& c) { depthwise(c), c.flags = kTensorResidual; }, kField);
  check([&](C& c) { depthwise(c), c.output_width = 30, c.output_height = 1, c.output_address = 0; }, kOk);
  check([&](C& c) { depthwise(c), c.output_width = 31, c.output_height = 1, c.output_address = 0; }, kField);
  const auto convolve = [](C& c) { c.opcode = TensorOpcode::kConvolve, c.output_address = 512; };
  check([&](C& c) { convolve(c), c.output_width = 64, c.output_height = 1; }, kOk);
  check([&](C& c) { convolve(c), c.output_width = 13, c.output_height = 5; }, kAddress);
  check([&](C& c) { convolve(c), c.input_blocks = 257; }, kField);
  check([&](C& c) { convolve(c), c.input_blocks = 3, c.input_plane = 505; }, kAddress);
  const auto bfloat = [&](C& c) { convolve(c), c.precision = TensorPrecision::kBfloat16; };
  check([&](C& c) { bfloat(c); }, kOk);
  check([&](C& c) { bfloat(c), c.precision = static_cast<TensorPrecision>(9); }, kField);
  check([&](C& c) { bfloat(c), c.precision = static_cast<TensorPrecision>(5); }, kField);
  check([&](C& c) { bfloat(c), c.opcode = TensorOpcode::kEnd; }, kField);
  check([&](C& c) { bfloat(c), c.opcode = TensorOpcode::kKeep; }, kField);
  check([&](C& c) { bfloat(c), c.opcode = TensorOpcode::kDepthwise; }, kField);
  check([&](C& c) { bfloat(c), c.opcode = TensorOpcode::kSumPool; }, kField);
  check([&](C& c) { bfloat(c), c.flags = kTensorResidual; }, kField);
  check([&](C& c) { bfloat(c), c.flags = 32; }, kField);
  check([&](C& c) { convolve(c), c.flags = kTensorFloat32; }, kField);
  check([&](C& c) { bfloat(c), c.flags = kTensorFloat32; }, kOk);
  check([&](C& c) { bfloat(c), c.output_address = 1008; }, kOk);
  check([&](C& c) { bfloat(c), c.output_address = 1009; }, kAddress);
  check([&](C& c) { bfloat(c), c.flags = kTensorFloat32, c.output_address = 992; }, kOk);
  check([&](C& c) { bfloat(c), c.flags = kTensorFloat32, c.output_address = 993; }, kAddress);
  check([&](C& c) { bfloat(c), c.flags = kTensorFloat32, c.output_address = 992, c.output_blocks = 2; },
        kAddress);
  check([&](C& c) { bfloat(c), c.flags = kTensorKept, c.kept_address = 216; }, kOk);
  check([&](C& c) { bfloat(c), c.flags = kTensorKept, c.kept_address = 217; }, kAddress);
  check([&](C& c) { bfloat(c), c.output_width = 13, c.output_height = 5; }, kAddress);
  const auto int16 = [&](C& c) { convolve(c), c.precision = TensorPrecision::kInt16; };
  check([&](C& c) { int16(c); }, kOk);
  check([&](C& c) { int16(c), c.precision = static_cast<TensorPrecision>(6); }, kField);
  check([&](C& c) { int16(c), c.opcode = TensorOpcode::kEnd; }, kField);
  check([&](C& c) { int16(c), c.opcode = TensorOpcode::kKeep; }, kField);
  check([&](C& c) { int16(c), c.opcode = TensorOpcode::kDepthwise; }, kField);
  check([&](C& c) { int16(c), c.opcode = TensorOpcode::kSumPool; }, kField);
  check([&](C& c) { int16(c), c.flags = kTensorResidual; }, kField);
  check([&](C& c) { int16(c), c.flags = 32; }, kField);
  check([&](C& c) { int16(c), c.output_address = 1008; }, kOk);
  check([&](C& c) { int16(c), c.output_address = 1009; }, kAddress);
  check([&](C& c) { int16(c), c.flags = kTensorInt32, c.output_address = 992; }, kOk);
  check([&](C& c) { int16(c), c.flags = kTensorInt32, c.output_address = 993; }, kAddress);
  check([&](C& c) { int16(c), c.flags = kTensorInt32, c.output_address = 992, c.output_blocks = 2; },
        kAddress);
  check([&](C& c) { int16(c), c.flags = kTensorKept, c.kept_address = 212; }, kOk);
  check([&](C& c) { int16(c), c.flags = kTensorKept, c.kept_address = 213; }, kAddress);
  check([&](C& c) { int16(c), c.output_width = 13, c.output_height = 5; }, kAddress);
  const auto int32 = [&](C& c) { convolve(c), c.precision = TensorPrecision::kInt32; };
  check([&](C& c) { int32(c); }, kOk);
  check([&](C& c) { int32(c), c.precision = static_cast<TensorPrecision>(7); }, kField);
  check([&](C& c) { int32(c), c.opcode = TensorOpcode::kDepthwise; }, kField);
  check([&](C& c) { int32(c), c.opcode = TensorOpcode::kMaxPool; }, kField);
  check([&](C& c) { int32(c), c.flags = kTensorResidual; }, kField);
  check([&](C& c) { int32(c), c.flags = kTensorInt32; }, kField);
  check([&](C& c) { int32(c), c.output_address = 1008; }, kOk);
  check([&](C& c) { int32(c), c.output_address = 1009; }, kAddress);
  check([&](C& c) { int32(c), c.flags = kTensorKept, c.kept_address = 230; }, kOk);
  check([&](C& c) { int32(c), c.flags = kTensorKept, c.kept_address = 231; }, kAddress);
  const auto float32 = [&](C& c) { convolve(c), c.precision = TensorPrecision::kFloat32; };
  check([&](C& c) { float32(c); }, kOk);
  check([&](C& c) { float32(c), c.precision = static_cast<TensorPrecision>(12); }, kField);
  check([&](C& c) { float32(c), c.precision = static_cast<TensorPrecision>(0x84); }, kField);
  check([&](C& c) { float32(c), c.opcode = TensorOpcode::kEnd; }, kField);
  check([&](C& c) { float32(c), c.opcode = TensorOpcode::kDepthwise; }, kField);
  check([&](C& c) { float32(c), c.opcode = TensorOpcode::kSumPool; }, kField);
  check([&](C& c) { float32(c), c.flags = kTensorResidual; }, kField);
  check([&](C& c) { float32(c), c.flags = kTensorFloat32; }, kField);
  check([&](C& c) { float32(c), c.output_address = 1008; }, kOk);
  check([&](C& c) { float32(c), c.output_address = 1009; }, kAddress);
  check([&](C& c) { float32(c), c.flags = kTensorKept, c.kept_address = 236; }, kOk);
  check([&](C& c) { float32(c), c.flags = kTensorKept, c.kept_address = 237; }, kAddress);
}

TEST_F(TensorSmallTest, ReportsAFailedBusAndGoesOn) {
  for (std::uint64_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    RandomTensorProgram program(kSize, 3000 + seed);
    const std::vector<std::uint64_t> input = program.Input();
    const bool write = seed % 2 == 1;
    if (write) {
      bench_.kernel.memory_port().FailNextWrite();
    } else {
      bench_.kernel.memory_port().FailNextRead();
    }
    const TensorRun run = bench_.Run(program.Make(2), input, input.size());
    EXPECT_EQ(run.status, write ? TensorStatus::kWriteFailed : TensorStatus::kReadFailed);
    EXPECT_EQ(bench_.report.read_failed(), !write);
    EXPECT_EQ(bench_.report.write_failed(), write);
    ExpectARightRun(seed);
  }
}

TEST_F(TensorSmallTest, BeginsAnewAfterAReset) {
  for (std::uint64_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
    ExpectARightRun(seed);
    bench_.kernel.WriteRegister(KernelRegister::kControl, KernelControl::kStart);
    for (std::uint64_t clock = random_() % 8000; clock > 0; --clock) bench_.kernel.Step();
    bench_.kernel.Reset();
  }
  ExpectARightRun(21);
}

TEST_F(TensorSmallTest, MovesTensorsThroughTheOutputBuffer) {
  // LOAD from the output buffer, with the sign flipped on the way in and back on the way out.
  TensorProgramBuilder program(kSize);
  program.Load(3, 0, 100);
  program.Store(0, 7, 100);
  program.Load(7, 200, 100, kTensorFromOutput | kTensorFlipSign);
  program.Store(150, 120, 150, kTensorFlipSign);
  program.End();
  std::vector<std::uint64_t> input(103);
  for (std::uint64_t& word : input) word = random_();
  EXPECT_EQ(bench_.Run(program.words(), input, 270).status, TensorStatus::kOk);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(bench_.memory.output[7 + i], input[3 + i]);
    EXPECT_EQ(bench_.memory.output[170 + i], input[3 + i]);
  }
  EXPECT_EQ(bench_.memory.output[6], 0u);
}

TEST_F(TensorSmallTest, RefusesTransfersBeyondABuffer) {
  const std::vector<std::uint64_t> input(100);
  int checked = 0;
  const auto check = [&](auto append, TensorStatus status) {
    SCOPED_TRACE(++checked);
    TensorProgramBuilder program(kSize);
    append(program);
    program.End();
    EXPECT_EQ(bench_.Compare(program.words(), input, 90).status, status);
  };
  using Builder = TensorProgramBuilder;
  constexpr TensorStatus kOk = TensorStatus::kOk, kAddress = TensorStatus::kBadAddress;
  constexpr std::uint32_t kLast = 0xffff'ffff;
  check([](Builder& p) { p.Load(0, 924, 100); }, kOk);
  check([](Builder& p) { p.Load(0, 925, 100); }, kAddress);
  check([](Builder& p) { p.Load(1, 0, 100); }, kAddress);
  check([](Builder& p) { p.Load(0, 0, 0); }, kAddress);
  check([](Builder& p) { p.Load(kLast, 0, 2); }, kAddress);
  check([](Builder& p) { p.Load(0, kLast, 2); }, kAddress);
  check([](Builder& p) { p.Load(0, 0, 1U << 31); }, kAddress);
  check([](Builder& p) { p.Load(0, 0, 90, kTensorFromOutput); }, kOk);
  check([](Builder& p) { p.Load(0, 0, 91, kTensorFromOutput); }, kAddress);
  check([](Builder& p) { p.Store(934, 0, 90); }, kOk);
  check([](Builder& p) { p.Store(935, 0, 90); }, kAddress);
  check([](Builder& p) { p.Store(0, 1, 90); }, kAddress);
  check([](Builder& p) { p.Store(0, 0, 0); }, kAddress);
  check([](Builder& p) { p.Store(0, kLast, 2); }, kAddress);
  check([](Builder& p) { p.Store(kLast, 0, 2); }, kAddress);
}

TEST_F(TensorSmallTest, EndsAProgramThatEndsWithinItsKeptWords) {
  const TensorCommand keep = {.opcode = TensorOpcode::kKeep, .input_plane = 20};
  const auto words = EncodeTensorCommand(keep);
  std::vector<std::uint64_t> program(words.begin(), words.end());
  program.resize(program.size() + 19);
  EXPECT_EQ(bench_.Compare(program, {}, 0).status, TensorStatus::kProgramEnds);
  program.resize(program.size() + 1 + kTensorCommandWords);
  EXPECT_EQ(bench_.Compare(program, {}, 0).status, TensorStatus::kOk);
}

TEST_F(TensorSmallTest, LeavesTheReportOutWithoutAnOutputBuffer) {
  TensorProgramBuilder program(kSize);
  program.End();
  bench_.Run(program.words(), {}, 0);
  const auto before = bench_.kernel.memory_port().record().written_words;
  bench_.kernel.WriteRegister(kKernelArguments[kOutputArgument].offset, 0);
  bench_.kernel.WriteRegister(kKernelArguments[kOutputArgument].offset + 4, 0);
  bench_.kernel.WriteRegister(KernelRegister::kControl, KernelControl::kStart);
  for (int clock = 0; clock < 200; ++clock) bench_.kernel.Step();
  EXPECT_NE(bench_.kernel.ReadRegister(KernelRegister::kControl) & KernelControl::kDone, 0u);
  EXPECT_EQ(bench_.kernel.memory_port().record().written_words, before);
  EXPECT_EQ(bench_.kernel.ReadRegister(KernelRegister::kFramesDone), 1u);
}

}  // namespace
}  // namespace tributary::fpga
