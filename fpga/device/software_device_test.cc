// The software device under Debian's libxrt_coreutil, used like any XRT device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/kernel_interface.h"
#include "tests/support/own_folder.h"

namespace tributary::device {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::size_t kFrames = 5;
constexpr std::size_t kFrameWords = 40;
constexpr std::size_t kWords = kFrames * kFrameWords;
constexpr std::size_t kBufferBytes = 4096;
constexpr auto kPatience = 20000ms;

class SoftwareDeviceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1); }
  void SetUp() override { ::unsetenv("TRIBUTARY_DEVICE_FAULTS"); }

  static void Inject(const char* faults) { ::setenv("TRIBUTARY_DEVICE_FAULTS", faults, 1); }

  std::string WriteFile(int instances) {
    XclbinContents contents;
    contents.kernels = {{"loopback_kernel", instances}};
    const std::string path = OwnFolder() + "loopback" + std::to_string(instances) + ".xclbin";
    const auto bytes = WriteXclbin(contents);
    EXPECT_TRUE(bytes.ok());
    std::ofstream(path, std::ios::binary) << *bytes;
    return path;
  }
};

// One kernel with its buffers and a run, as in any XRT program.
struct Session {
  explicit Session(const std::string& xclbin, const std::string& name = "loopback_kernel")
      : device(0),
        uuid(device.load_xclbin(xclbin)),
        kernel(device, uuid, name),
        input(device, kBufferBytes, xrt::bo::flags::cacheable, kernel.group_id(fpga::kInputArgument)),
        output(device, kBufferBytes, xrt::bo::flags::cacheable, kernel.group_id(fpga::kOutputArgument)),
        parameters(device, kBufferBytes, xrt::bo::flags::cacheable,
                   kernel.group_id(fpga::kParametersArgument)),
        run(kernel) {
    run.set_arg(fpga::kInputArgument, input);
    run.set_arg(fpga::kOutputArgument, output);
    run.set_arg(fpga::kParametersArgument, parameters);
    run.set_arg(fpga::kFramesArgument, static_cast<std::uint32_t>(kFrames));
    run.set_arg(fpga::kParameterWordsArgument, 0u);
    run.set_arg(fpga::kConfigurationArgument, static_cast<std::uint32_t>(kFrameWords));
    run.set_arg(fpga::kSeedArgument, 0u);
    std::iota(words(input).begin(), words(input).end(), 1000);
    std::fill(words(output).begin(), words(output).end(), 0);
    input.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    output.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }

  static std::span<std::uint64_t> words(xrt::bo& buffer) {
    return {buffer.map<std::uint64_t*>(), kBufferBytes / 8};
  }

  ert_cmd_state Run() {
    run.start();
    const ert_cmd_state state = run.wait(kPatience);
    output.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    return state;
  }

  fpga::KernelReport report() { return {words(output)[kWords], words(output)[kWords + 1]}; }

  xrt::device device;
  xrt::uuid uuid;
  xrt::kernel kernel;
  xrt::bo input, output, parameters;
  xrt::run run;
};

TEST_F(SoftwareDeviceTest, RunsAKernelAndGivesBackItsWordsAndItsReport) {
  Session session(WriteFile(1));
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(Session::words(session.output)[i], 1000 + i) << i;
  const fpga::KernelReport report = session.report();
  EXPECT_TRUE(report.valid());
  EXPECT_FALSE(report.read_failed());
  EXPECT_FALSE(report.write_failed());
  EXPECT_EQ(report.frames_done(), kFrames);
  EXPECT_GT(report.cycles, kWords);
  EXPECT_LT(report.cycles, 4 * kWords);
}

TEST_F(SoftwareDeviceTest, LoadsParametersThatStayForLaterRuns) {
  Session session(WriteFile(1));
  Session::words(session.parameters)[0] = 7;
  session.parameters.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  session.run.set_arg(fpga::kParameterWordsArgument, 1u);
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  session.run.set_arg(fpga::kParameterWordsArgument, 0u);
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(Session::words(session.output)[0], 1007u);
}

TEST_F(SoftwareDeviceTest, AForgottenSyncShowsAsWrongData) {
  Session session(WriteFile(1));
  Session::words(session.input)[0] = 5;
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(Session::words(session.output)[0], 1000u);
}

TEST_F(SoftwareDeviceTest, RunsOfTwoComputeUnitsOverlapInOneProgram) {
  const std::string file = WriteFile(2);
  Session first(file, "loopback_kernel:{loopback_kernel_1}");
  Session second(file, "loopback_kernel:{loopback_kernel_2}");
  first.run.start();
  second.run.start();
  EXPECT_EQ(first.run.wait(kPatience), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(second.run.wait(kPatience), ERT_CMD_STATE_COMPLETED);
}

TEST_F(SoftwareDeviceTest, CallsBackWhenARunEnds) {
  Session session(WriteFile(1));
  std::promise<ert_cmd_state> state;
  session.run.add_callback(
      ERT_CMD_STATE_COMPLETED,
      [&state](const void*, ert_cmd_state reached, void*) { state.set_value(reached); }, nullptr);
  session.run.start();
  EXPECT_EQ(state.get_future().get(), ERT_CMD_STATE_COMPLETED);
}

TEST_F(SoftwareDeviceTest, AHungKernelTimesOutIsAbortedAndRunsAgain) {
  Inject("hang=1");
  Session session(WriteFile(1));
  session.run.start();
  EXPECT_EQ(session.run.wait(20ms), ERT_CMD_STATE_TIMEOUT);
  EXPECT_EQ(session.run.abort(), ERT_CMD_STATE_ABORT);
  EXPECT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
}

TEST_F(SoftwareDeviceTest, ReportsAFailedReadAndAFailedWrite) {
  Inject("read_error=1,write_error=2");
  Session session(WriteFile(1));
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  EXPECT_TRUE(session.report().valid());
  EXPECT_TRUE(session.report().read_failed());
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  EXPECT_TRUE(session.report().write_failed());
  EXPECT_FALSE(session.report().read_failed());
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  EXPECT_FALSE(session.report().write_failed());
}

TEST_F(SoftwareDeviceTest, AWrongPointerIsABusErrorAndNotACrash) {
  Session session(WriteFile(1));
  session.run.set_arg(fpga::kFramesArgument, 1000u);  // far beyond both buffers
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  EXPECT_FALSE(session.report().valid());
}

TEST_F(SoftwareDeviceTest, RefusesAKernelWhenTheBoardHoldsAnotherXclbin) {
  Inject("wrong_uuid");
  EXPECT_THROW(Session session(WriteFile(1)), std::exception);
}

TEST_F(SoftwareDeviceTest, AnXclbinWithAnUnknownKernelLeavesTheBoardAsItWas) {
  const std::string unknown = OwnFolder() + "unknown.xclbin";
  std::ofstream(unknown, std::ios::binary) << WriteXclbin({.kernels = {{"absent_kernel", 1}}}).value();
  const std::string good = WriteFile(1);
  xrt::device device(0);
  device.load_xclbin(good);
  EXPECT_THROW(device.load_xclbin(unknown), std::exception);
  Session session(good);
  EXPECT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
}

TEST_F(SoftwareDeviceTest, RefusesABufferThatDoesNotFit) {
  Inject("memory_bytes=8192");
  EXPECT_THROW(Session session(WriteFile(1)), std::bad_alloc);
}

TEST_F(SoftwareDeviceTest, FailsEveryCallOnceItHasDisappeared) {
  Inject("disappear=2");
  Session session(WriteFile(1));
  EXPECT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  EXPECT_THROW(session.Run(), std::exception);
  EXPECT_THROW(session.input.sync(XCL_BO_SYNC_BO_TO_DEVICE), std::exception);
}

TEST_F(SoftwareDeviceTest, OpensOnlyWithPermission) {
  Inject("no_permission");
  EXPECT_THROW(xrt::device(0), std::exception);
  Inject("no_device");
  EXPECT_THROW(xrt::device(0), std::exception);
}

TEST_F(SoftwareDeviceTest, RunsEveryKernelOfOneXclbin) {
  std::vector<std::string> names;
  for (const fpga::KernelProbe& probe : fpga::kKernelProbes) names.emplace_back(probe.kernel);
  XclbinContents contents;
  for (const std::string& name : names) contents.kernels.push_back({name, 1});
  const std::string path = OwnFolder() + "all.xclbin";
  std::ofstream(path, std::ios::binary) << WriteXclbin(contents).value();
  for (const std::string& name : names) {
    Session session(path, name);
    session.run.set_arg(fpga::kFramesArgument, 0u);
    ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED) << name;
    const fpga::KernelReport report{Session::words(session.output)[0], Session::words(session.output)[1]};
    EXPECT_TRUE(report.valid()) << name;
  }
}

TEST_F(SoftwareDeviceTest, StartAndWaitOfAnEmptyRun) {
  Session session(WriteFile(1));
  session.run.set_arg(fpga::kFramesArgument, 0u);
  constexpr int kRuns = 200;
  ASSERT_EQ(session.Run(), ERT_CMD_STATE_COMPLETED);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) {
    session.run.start();
    ASSERT_EQ(session.run.wait(kPatience), ERT_CMD_STATE_COMPLETED);
  }
  const std::chrono::duration<double, std::micro> each = (std::chrono::steady_clock::now() - begin) / kRuns;
  RecordProperty("empty_run_us", std::to_string(each.count()));
  std::cout << "start() and wait() of an empty kernel: " << each.count() << " us\n";
}

}  // namespace
}  // namespace tributary::device
