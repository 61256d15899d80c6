// A tensor kernel, driven as XRT's driver does, beside the golden model.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "fpga/device/verilated_kernel.h"
#include "fpga/model/kernel_interface.h"
#include "fpga/model/tensor_unit.h"

namespace tributary::fpga {

// One buffer per argument, each at an address of its own; what lies between them is no memory, so that every
// access outside a buffer is answered with an error.
class TensorMemory final : public device::BusMemory {
 public:
  static constexpr std::uint64_t kProgram = 0x8'0000'0000, kInput = 0x9'0000'0000, kOutput = 0xa'0000'0ff0;

  std::uint8_t* Resolve(std::uint64_t address, std::uint64_t bytes) override {
    for (auto [base, words] : {std::pair{kProgram, &program}, {kInput, &input}, {kOutput, &output}}) {
      const std::uint64_t size = 8 * words->size();
      if (address >= base && address - base <= size && bytes <= size - (address - base)) {
        return reinterpret_cast<std::uint8_t*>(words->data()) + (address - base);
      }
    }
    return nullptr;
  }
  std::vector<std::uint64_t> program, input, output;
};

template <typename Top>
class TensorBench {
 public:
  static constexpr std::uint64_t kUntouched = 0xdead'beef'dead'beef;

  explicit TensorBench(const TensorUnitSize& size) : golden(size), kernel(&memory) {}

  // Runs a program on the kernel. The output buffer keeps what it held if its size is the same.
  TensorRun Run(std::span<const std::uint64_t> program, std::span<const std::uint64_t> input,
                std::size_t output_words) {
    memory.program.assign(program.begin(), program.end());
    memory.input.assign(input.begin(), input.end());
    memory.output.resize(output_words + kTensorReportWords, 0);
    std::fill(memory.output.end() - kTensorReportWords, memory.output.end(), kUntouched);
    WritePointer(kInputArgument, TensorMemory::kInput);
    WritePointer(kOutputArgument, TensorMemory::kOutput);
    WritePointer(kParametersArgument, TensorMemory::kProgram);
    WriteScalar(kParameterWordsArgument, program.size());
    WriteScalar(kConfigurationArgument, input.size());
    WriteScalar(kSeedArgument, output_words);
    kernel.WriteRegister(KernelRegister::kControl, KernelControl::kStart);
    Wait();
    const std::uint64_t* words = memory.output.data() + output_words;
    report = {words[0], words[1]};
    const std::span<const std::uint64_t> output = memory.output;
    const TensorRun run = ReadTensorReport(output.last<kTensorReportWords>()).value_or(TensorRun());
    EXPECT_TRUE(report.valid());
    EXPECT_EQ(report.frames_done(), run.status == TensorStatus::kOk ? 1u : 0u);
    EXPECT_EQ(kernel.ReadRegister(KernelRegister::kStatus) >> 8 & 0xff, words[2] & 0xff);
    EXPECT_THAT(kernel.memory_port().record().violations, testing::IsEmpty());
    return run;
  }

  // Runs it on both and compares status, command and output. Returns the kernel's run.
  TensorRun Compare(std::span<const std::uint64_t> program, std::span<const std::uint64_t> input,
                    std::size_t output_words) {
    std::vector<std::uint64_t> expected(memory.output);
    expected.resize(output_words + kTensorReportWords, 0);
    const TensorRun run = Run(program, input, output_words);
    expected.resize(output_words);
    golden_run = golden.Run(program, input, expected);
    EXPECT_EQ(run.status, golden_run.status);
    EXPECT_EQ(run.command, golden_run.command);
    if (run.status == TensorStatus::kOk) {
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < output_words; ++i) wrong += memory.output[i] != expected[i];
      EXPECT_EQ(wrong, 0u) << "of " << output_words << " words";
      compared += output_words;
    }
    return run;
  }

  TensorMemory memory;
  TensorUnit golden;
  device::VerilatedKernel<Top> kernel;
  KernelReport report;
  TensorRun golden_run;
  std::uint64_t compared = 0;

 private:
  static constexpr std::uint64_t kMaxClocks = 3'000'000;

  void Wait() {
    for (std::uint64_t clocks = 0; clocks < kMaxClocks; ++clocks) {
      kernel.Step();
      if (clocks % 64 != 0) continue;
      if ((kernel.ReadRegister(KernelRegister::kControl) & KernelControl::kDone) == 0) continue;
      kernel.WriteRegister(KernelRegister::kControl, KernelControl::kContinue);
      return;
    }
    FAIL() << "the run did not end";
  }
  void WritePointer(int argument, std::uint64_t address) {
    kernel.WriteRegister(kKernelArguments[argument].offset, static_cast<std::uint32_t>(address));
    kernel.WriteRegister(kKernelArguments[argument].offset + 4, static_cast<std::uint32_t>(address >> 32));
  }
  void WriteScalar(int argument, std::uint64_t value) {
    kernel.WriteRegister(kKernelArguments[argument].offset, static_cast<std::uint32_t>(value));
  }
};

}  // namespace tributary::fpga
