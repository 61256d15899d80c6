// The kernel shell at full size, driven as XRT's driver does, with a memory that can stall and fail.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "fpga/device/verilated_kernel.h"
#include "fpga/model/kernel_interface.h"

namespace tributary::fpga {

inline constexpr std::uint64_t kBase =
    0x8'0000'0000;  // beyond 32 bits, so that both halves of a pointer count
inline constexpr std::size_t kMemoryWords = 1 << 15;
inline constexpr std::uint64_t kUntouched = 0xdead'beef'dead'beef;
inline constexpr int kMaxClocks = 2'000'000;

class BenchMemory final : public device::BusMemory {
 public:
  std::uint8_t* Resolve(std::uint64_t address, std::uint64_t bytes) override {
    const std::uint64_t size = 8 * words.size();
    if (address < kBase || address - kBase > size || bytes > size - (address - kBase)) return nullptr;
    return reinterpret_cast<std::uint8_t*>(words.data()) + (address - kBase);
  }
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kMemoryWords, kUntouched);
};

struct RunArguments {
  std::size_t input = 0, output = kMemoryWords / 2 + 1;  // words from the memory's begin
  std::uint32_t frames = 0, frame_words = 0;
  std::size_t parameters = 0;
  std::uint32_t parameter_words = 0;
};

template <typename Top>
class KernelBench {
 public:
  KernelBench() : kernel(&memory) {
    for (std::size_t i = 0; i < kMemoryWords / 2; ++i) memory.words[i] = random();
  }

  void Write(const RunArguments& run) {
    WritePointer(kInputArgument, run.input);
    WritePointer(kOutputArgument, run.output);
    WritePointer(kParametersArgument, run.parameters);
    WriteScalar(kFramesArgument, run.frames);
    WriteScalar(kParameterWordsArgument, run.parameter_words);
    WriteScalar(kConfigurationArgument, run.frame_words);
  }

  void Run(const RunArguments& run) {
    Write(run);
    Start();
    WaitAndAcknowledge();
  }

  void Start() { kernel.WriteRegister(KernelRegister::kControl, KernelControl::kStart); }

  void WaitAndAcknowledge() {
    for (int clocks = 0; clocks < kMaxClocks; ++clocks) {
      kernel.Step();
      if (clocks % 16 != 0) continue;
      if ((kernel.ReadRegister(KernelRegister::kControl) & KernelControl::kDone) == 0) continue;
      kernel.WriteRegister(KernelRegister::kControl, KernelControl::kContinue);
      return;
    }
    FAIL() << "the run did not end";
  }

  KernelReport Report(const RunArguments& run) const {
    const std::size_t at = run.output + std::size_t{run.frames} * run.frame_words;
    return {memory.words[at], memory.words[at + 1]};
  }

  // The output is the input plus `addend`, the report follows, and nothing else was changed.
  void ExpectResult(const RunArguments& run, std::uint64_t addend = 0) {
    const std::size_t total = std::size_t{run.frames} * run.frame_words;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < total; ++i)
      wrong += memory.words[run.output + i] != memory.words[run.input + i] + addend;
    EXPECT_EQ(wrong, 0u);
    const KernelReport report = Report(run);
    EXPECT_TRUE(report.valid());
    EXPECT_FALSE(report.read_failed());
    EXPECT_FALSE(report.write_failed());
    EXPECT_EQ(report.frames_done(), run.frames);
    EXPECT_EQ(memory.words[run.output - 1], kUntouched);
    EXPECT_EQ(memory.words[run.output + total + KernelReport::kWords], kUntouched);
    EXPECT_THAT(kernel.memory_port().record().violations, testing::IsEmpty());
  }

  void Forget(const RunArguments& run) {
    std::fill_n(memory.words.begin() + static_cast<std::ptrdiff_t>(run.output),
                std::size_t{run.frames} * run.frame_words + KernelReport::kWords, kUntouched);
  }

  BenchMemory memory;
  device::VerilatedKernel<Top> kernel;
  std::mt19937_64 random{7};

 private:
  void WritePointer(int argument, std::size_t word) {
    const std::uint64_t address = kBase + 8 * word;
    kernel.WriteRegister(kKernelArguments[argument].offset, static_cast<std::uint32_t>(address));
    kernel.WriteRegister(kKernelArguments[argument].offset + 4, static_cast<std::uint32_t>(address >> 32));
  }
  void WriteScalar(int argument, std::uint32_t value) {
    kernel.WriteRegister(kKernelArguments[argument].offset, value);
  }
};

}  // namespace tributary::fpga
