// The shell's way from memory to memory: bursts, stalls, failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>

#include "Vloopback_kernel.h"
#include "Vloopback_kernel_axi3.h"
#include "fpga/tb/kernel/kernel_fixture.h"

namespace tributary::fpga {
namespace {

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
    bench.Run(run);
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
  bench.Run(run);
  bench.ExpectResult(run, bench.memory.words[5 + 299]);
}

TEST(KernelTest, ReportsAFailedReadAndForgetsItInTheNextRun) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 2, .frame_words = 100};
  bench.kernel.memory_port().FailNextRead();
  bench.Run(run);
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
  bench.kernel.memory_port().FailNextWrite();
  bench.Run(run);
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
  bench.kernel.memory_port().FailNextWrite();
  bench.Run(run);
  EXPECT_TRUE(bench.Report(run).write_failed());
}

TEST(KernelTest, APointerOutsideOfTheMemoryEndsTheRunWithoutAReport) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords + 512, .frames = 1, .frame_words = 8};
  bench.Run(run);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kStatus), 2u);
}

TEST(KernelTest, AnEmptyRunOnlyReports) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 0, .frame_words = 8};
  bench.Run(run);
  bench.ExpectResult(run);
  EXPECT_EQ(bench.kernel.memory_port().record().read_bursts, 0u);
  EXPECT_LT(bench.Report(run).cycles, 64u);
}

TEST(KernelTest, MovesAtLeastNineWordsInTenCyclesFromAQuickMemory) {
  KernelBench<Vloopback_kernel> bench;
  const RunArguments run{.output = kMemoryWords / 2 + 1, .frames = 20, .frame_words = 500};
  bench.Run(run);
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
  bench.Run(run);
  bench.ExpectResult(run);
}

}  // namespace
}  // namespace tributary::fpga
