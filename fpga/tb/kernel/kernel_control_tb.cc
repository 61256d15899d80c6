// The shell's registers as a host sees them: arguments, start, interrupts, counters, reset.
#include <gtest/gtest.h>

#include <cstdint>

#include "Vloopback_kernel.h"
#include "fpga/tb/kernel/kernel_fixture.h"

namespace tributary::fpga {
namespace {

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
  bench.Run(run);
  EXPECT_EQ(bench.kernel.ReadRegister(KernelRegister::kInterruptStatus), 1u);
  EXPECT_FALSE(bench.kernel.interrupt());
}

}  // namespace
}  // namespace tributary::fpga
