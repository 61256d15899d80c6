// The kernel shell at full size, driven as XRT's driver does, with a memory that stalls and fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "Vloopback_kernel.h"
#include "Vloopback_kernel_axi3.h"
#include "fpga/device/verilated_kernel.h"
#include "fpga/model/kernel_interface.h"

namespace tributary::fpga {
namespace {

constexpr std::uint64_t kBase = 0x8'0000'0000;  // beyond 32 bits, so that both halves of a pointer count
constexpr std::size_t kMemoryWords = 1 << 15;
constexpr std::uint64_t kUntouched = 0xdead'beef'dead'beef;
constexpr int kMaxClocks = 2'000'000;

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

// Random transfers at random places. The coverage counts must show that the hard cases occurred.
template <typename Top>
void RunRandomTransfers(double stall, std::uint32_t max_burst) {
  KernelBench<Top> bench;
  bench.kernel.memory_port().set_timing({.latency_clocks = 24, .stall = stall, .seed = 11});
  constexpr int kRuns = 60;
  std::uint64_t words = 0;
  for (int i = 0; i < kRuns; ++i) {
    RunArguments run;
    run.input = bench.random() % 2000;
    run.output = kMemoryWords / 2 + 1 + bench.random() % 2000;
    run.frames = static_cast<std::uint32_t>(bench.random() % 6);
    run.frame_words = static_cast<std::uint32_t>(1 + bench.random() % (i % 3 == 0 ? 700 : 9));
    bench.Write(run);
    bench.Start();
    bench.WaitAndAcknowledge();
    bench.ExpectResult(run);
    bench.Forget(run);
    words += std::uint64_t{run.frames} * run.frame_words;
  }
  const device::AxiMemoryPort::Record& record = bench.kernel.memory_port().record();
  EXPECT_EQ(record.read_words, words);
  EXPECT_EQ(record.written_words, words + kRuns * KernelReport::kWords);
  EXPECT_EQ(record.longest_burst, max_burst);
  EXPECT_GE(record.most_reads_outstanding, 3u);
  EXPECT_GT(words, 10'000u);  // the bench has exercised what it claims
}

TEST(KernelTest, MovesRandomTransfersWithoutAStall) { RunRandomTransfers<Vloopback_kernel>(0.0, 64); }
TEST(KernelTest, MovesRandomTransfersThroughAStallingMemory) {
  RunRandomTransfers<Vloopback_kernel>(0.4, 64);
}
TEST(KernelTest, MovesRandomTransfersThroughASlowMemory) { RunRandomTransfers<Vloopback_kernel>(0.85, 64); }
TEST(KernelTest, KeepsToSixteenWordsPerBurstForAnAxi3Port) {
  RunRandomTransfers<Vloopback_kernel_axi3>(0.3, 16);
}

TEST(KernelTest, LoadsParametersBeforeTheFrames) {
  KernelBench<Vloopback_kernel> bench;
  RunArguments run{.input = 10, .frames = 3, .frame_words = 50, .parameters = 5, .parameter_words = 300};
  bench.Write(run);
  bench.Start();
  bench.WaitAndAcknowledge();
  bench.ExpectResult(run, bench.memory.words[5 + 299]);
}

TEST(KernelTest, TakesTheNextRunsArgumentsWhileOneIsRunning) {
  KernelBench<Vloopback_kernel> bench;
  bench.kernel.memory_port().set_timing({.latency_clocks = 30, .stall = 0.3, .seed = 5});
  const RunArguments first{.input = 0, .output = kMemoryWords / 2 + 16, .frames = 4, .frame_words = 100};
  const RunArguments second{.input = 777, .output = kMemoryWords / 2 + 4096, .frames = 3, .frame_words = 90};
  bench.Write(first);
  bench.Start();
  while ((bench.kernel.ReadRegister(KernelRegister::kControl) & KernelControl::kReady) == 0) {
  }
  bench.Write(second);
  bench.Start();
  // The second run begins after the first was acknowledged, not before, however long that takes.
  for (int clock = 0; clock < 20'000; ++clock) bench.kernel.Step();
  bench.WaitAndAcknowledge();
  EXPECT_FALSE(bench.Report(second).valid());
  bench.ExpectResult(first);
  bench.WaitAndAcknowledge();
  bench.ExpectResult(second);
  EXPECT_NE(bench.kernel.ReadRegister(KernelRegister::kControl) & KernelControl::kIdle, 0u);
}

TEST(KernelTest, ReportsAFailedReadAndForgetsItInTheNextRun) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 2, .frame_words = 100};
  bench.Write(run);
  bench.kernel.memory_port().FailNextRead();
  bench.Start();
  bench.WaitAndAcknowledge();
  EXPECT_TRUE(bench.Report(run).valid());
  EXPECT_TRUE(bench.Report(run).read_failed());
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kStatus), 1u);
  bench.Start();
  bench.WaitAndAcknowledge();
  bench.ExpectResult(run);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kStatus), 0u);
}

TEST(KernelTest, ReportsAFailedWrite) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 2, .frame_words = 100};
  bench.Write(run);
  bench.kernel.memory_port().FailNextWrite();
  bench.Start();
  bench.WaitAndAcknowledge();
  EXPECT_TRUE(bench.Report(run).write_failed());
  EXPECT_FALSE(bench.Report(run).read_failed());
  bench.Start();
  bench.WaitAndAcknowledge();
  bench.ExpectResult(run);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kStatus), 0u);
}

TEST(KernelTest, WaitsForTheAnswerOfTheLastWriteBeforeItReports) {
  KernelBench<Vloopback_kernel> bench;
  bench.kernel.memory_port().set_timing({.latency_clocks = 200});
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 1, .frame_words = 8};
  bench.Write(run);
  bench.kernel.memory_port().FailNextWrite();
  bench.Start();
  bench.WaitAndAcknowledge();
  EXPECT_TRUE(bench.Report(run).write_failed());
}

TEST(KernelTest, APointerOutsideOfTheMemoryEndsTheRunWithoutAReport) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords + 512, .frames = 1, .frame_words = 8};
  bench.Write(run);
  bench.Start();
  bench.WaitAndAcknowledge();
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kStatus), 2u);
}

TEST(KernelTest, AnEmptyRunOnlyReports) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 0, .frame_words = 8};
  bench.Write(run);
  bench.Start();
  bench.WaitAndAcknowledge();
  bench.ExpectResult(run);
  EXPECT_EQ(bench.kernel.memory_port().record().read_bursts, 0u);
  EXPECT_LT(bench.Report(run).cycles, 64u);
}

TEST(KernelTest, InterruptsAtTheEndAndUntilAcknowledged) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 1, .frame_words = 8};
  bench.kernel.WriteRegister(KernelRegister::kGlobalInterrupt, 1);
  bench.kernel.WriteRegister(KernelRegister::kInterruptEnable, 1);
  bench.Write(run);
  EXPECT_FALSE(bench.kernel.interrupt());
  bench.Start();
  for (int i = 0; i < 1000 && !bench.kernel.interrupt(); ++i) bench.kernel.Step();
  ASSERT_TRUE(bench.kernel.interrupt());
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptStatus), 1u);
  bench.kernel.WriteRegister(KernelRegister::kInterruptStatus, 1);
  EXPECT_FALSE(bench.kernel.interrupt());
}

// A host that offers address and data at different times, takes answers late and writes single bytes.
TEST(KernelTest, AnswersAHostThatTakesItsTime) {
  KernelBench<Vloopback_kernel> bench;
  Vloopback_kernel& top = bench.kernel.top();
  const std::uint32_t offset = kKernelArguments[kSeedArgument].offset;
  std::uint32_t expected = 0;
  bench.kernel.WriteRegister(offset, expected);
  const auto idle = [&](std::uint64_t most) {
    for (std::uint64_t clocks = bench.random() % (most + 1); clocks > 0; --clocks) bench.kernel.Step();
  };
  for (int i = 0; i < 400; ++i) {
    const auto value = static_cast<std::uint32_t>(bench.random());
    const auto strobe = static_cast<std::uint8_t>(bench.random() % 16);
    top.s_axi_control_awaddr = offset;
    top.s_axi_control_wdata = value;
    top.s_axi_control_wstrb = strobe;
    top.s_axi_control_bready = 0;
    const bool address_first = bench.random() % 2 == 0;
    (address_first ? top.s_axi_control_awvalid : top.s_axi_control_wvalid) = 1;
    idle(3);  // nothing is written with one half only
    top.s_axi_control_awvalid = top.s_axi_control_wvalid = 1;
    bench.kernel.Step();
    top.s_axi_control_awvalid = top.s_axi_control_wvalid = 0;
    ASSERT_TRUE(top.s_axi_control_bvalid);
    idle(3);
    ASSERT_TRUE(top.s_axi_control_bvalid) << "the answer stays until it is taken";
    top.s_axi_control_bready = 1;
    bench.kernel.Step();
    ASSERT_FALSE(top.s_axi_control_bvalid) << "one answer for one write";
    for (int byte = 0; byte < 4; ++byte) {
      const std::uint32_t mask = 0xffu << (8 * byte);
      if ((strobe >> byte & 1) != 0) expected = (expected & ~mask) | (value & mask);
    }
    top.s_axi_control_araddr = offset;
    top.s_axi_control_arvalid = 1;
    top.s_axi_control_rready = 0;
    bench.kernel.Step();
    top.s_axi_control_arvalid = 0;
    idle(3);
    ASSERT_TRUE(top.s_axi_control_rvalid);
    ASSERT_EQ(top.s_axi_control_rdata, expected);
    top.s_axi_control_rready = 1;
    bench.kernel.Step();
    ASSERT_FALSE(top.s_axi_control_rvalid);
  }
}

TEST(KernelTest, GivesBackEveryArgumentAndNothingElsewhere) {
  KernelBench<Vloopback_kernel> bench;
  std::map<std::uint32_t, std::uint32_t> expected;
  for (std::uint32_t offset = 0x10; offset < 0x80; offset += 4) expected[offset] = 0;
  for (const KernelArgument& argument : kKernelArguments) {
    for (std::uint32_t half = 0; half < argument.bytes; half += 4) {
      const auto value = static_cast<std::uint32_t>(bench.random());
      bench.kernel.WriteRegister(argument.offset + half, value);
      expected[argument.offset + half] = value;
    }
  }
  for (const auto& [offset, value] : expected) {
    if (offset >= KernelRegister::kStatus && offset <= KernelRegister::kCyclesHigh) continue;
    EXPECT_EQ(bench.kernel.ReadRegister(offset), value) << "at " << offset;
  }
}

TEST(KernelTest, SaysOnceThatARunWasTaken) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 4, .frame_words = 100};
  bench.Write(run);
  const auto control = [&] { return bench.kernel.ReadRegister(KernelRegister::kControl); };
  EXPECT_EQ(control(), KernelControl::kIdle);
  bench.Start();
  for (int i = 0; i < 8; ++i) bench.kernel.Step();
  bench.kernel.ReadRegister(KernelRegister::kStatus);  // reading another register leaves the bit
  bench.kernel.top().s_axi_control_araddr =
      KernelRegister::kControl;  // and so does an address that is not asked for
  bench.kernel.Step();
  EXPECT_EQ(control(), KernelControl::kReady);
  EXPECT_EQ(control(), 0u);
  bench.WaitAndAcknowledge();
  EXPECT_EQ(control(), KernelControl::kIdle);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kFramesDone), run.frames);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kCyclesHigh), 0u);
  // The report is written before the run ends: the register has counted those cycles too.
  EXPECT_GE(bench.kernel.ReadRegister(KernelRegister::kCyclesLow), bench.Report(run).cycles);
}

TEST(KernelTest, CountsTheCyclesOfEachRun) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 3, .frame_words = 100};
  bench.kernel.WriteRegister(KernelRegister::kGlobalInterrupt, 1);
  bench.kernel.WriteRegister(KernelRegister::kInterruptEnable, 1);
  bench.Write(run);
  for (int i = 0; i < 2; ++i) {
    bench.Start();  // the run is taken in the last clock of this call
    std::uint64_t clocks = 0;
    for (; !bench.kernel.interrupt() && clocks < kMaxClocks; ++clocks) bench.kernel.Step();
    bench.kernel.WriteRegister(KernelRegister::kInterruptStatus, 1);
    bench.WaitAndAcknowledge();
    EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kCyclesLow), clocks);
    EXPECT_GE(bench.Report(run).cycles, run.frames * run.frame_words);
    EXPECT_LT(bench.Report(run).cycles, clocks);
  }
}

TEST(KernelTest, KnowsOfNothingAfterAReset) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 2, .frame_words = 100};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kControl), KernelControl::kIdle);
    EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kStatus), 0u);
    EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptStatus), 0u);
    EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptEnable), 0u);
    EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kGlobalInterrupt), 0u);
    // A run that has failed on both ports and was not acknowledged.
    bench.kernel.WriteRegister(KernelRegister::kGlobalInterrupt, 1);
    bench.kernel.WriteRegister(KernelRegister::kInterruptEnable, 3);
    bench.Write(run);
    bench.kernel.memory_port().FailNextRead();
    bench.kernel.memory_port().FailNextWrite();
    bench.Start();
    for (int clocks = 0; clocks < 2'000; ++clocks) bench.kernel.Step();
    EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kStatus), 3u);
    bench.Start();  // it is asked for again, and waits
    bench.kernel.Reset();
  }
  for (int clocks = 0; clocks < 2'000; ++clocks) bench.kernel.Step();
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kFramesDone),
            run.frames);  // what asked for a run is forgotten
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kControl), KernelControl::kIdle);
}

TEST(KernelTest, InterruptsWhenARunIsTaken) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 2, .frame_words = 100};
  bench.kernel.WriteRegister(KernelRegister::kGlobalInterrupt, 1);
  bench.kernel.WriteRegister(KernelRegister::kInterruptEnable, 2);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kGlobalInterrupt), 1u);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptEnable), 2u);
  bench.Write(run);
  bench.Start();
  for (int i = 0; i < 8; ++i) bench.kernel.Step();
  EXPECT_TRUE(bench.kernel.interrupt());
  bench.kernel.WriteRegister(KernelRegister::kInterruptStatus, 2);
  EXPECT_FALSE(bench.kernel.interrupt());
  bench.WaitAndAcknowledge();
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptStatus), 0u);
  bench.kernel.WriteRegister(KernelRegister::kInterruptStatus,
                             3);  // a write toggles: XRT tests its handler so
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptStatus), 3u);
}

TEST(KernelTest, DoesNotInterruptUnlessItIsEnabledForAll) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 1, .frame_words = 8};
  bench.kernel.WriteRegister(KernelRegister::kInterruptEnable, 1);
  bench.Write(run);
  bench.Start();
  bench.WaitAndAcknowledge();
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptStatus), 1u);
  EXPECT_FALSE(bench.kernel.interrupt());
}

TEST(KernelTest, MovesAtLeastNineWordsInTenCyclesFromAQuickMemory) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 20, .frame_words = 500};
  bench.Write(run);
  bench.Start();
  bench.WaitAndAcknowledge();
  bench.ExpectResult(run);
  const double words_per_cycle = 20.0 * 500.0 / static_cast<double>(bench.Report(run).cycles);
  std::printf("loopback: %.3f words per cycle\n", words_per_cycle);
  EXPECT_GT(words_per_cycle, 0.9);
}

TEST(KernelTest, ForgetsARunningTransferInReset) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 10, .frame_words = 500};
  bench.Write(run);
  bench.Start();
  for (int i = 0; i < 500; ++i) bench.kernel.Step();
  bench.kernel.Reset();
  bench.Forget(run);
  bench.Write(run);
  bench.Start();
  bench.WaitAndAcknowledge();
  bench.ExpectResult(run);
}

}  // namespace
}  // namespace tributary::fpga
