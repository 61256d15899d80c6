// The xrt accelerator on the software device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/kernel_interface.h"
#include "fpga/model/positioning_image.h"
#include "fpga/model/positioning_model.h"
#include "fpga/model/random_network_fixture.h"
#include "node/accelerator/create.h"
#include "tests/support/own_folder.h"

namespace tributary::accelerator {
namespace {

using testing::HasSubstr;

constexpr std::size_t kInputs = fpga::FixedPositioning::kInputs;
constexpr std::size_t kOutputs = fpga::FixedPositioning::kOutputs;
constexpr std::size_t kBatch = 16;

class XrtPositioningTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    options_.xclbin = WriteFile({{"positioning_kernel", 2}});
    options_.frames_per_run = 3;
    options_.reopen_interval = std::chrono::milliseconds(0);
    // A Verilated run of three frames takes some 5 ms here; a hung one must not block the suite.
    options_.run_timeout = std::chrono::milliseconds(3000);
  }

  static void Inject(const char* faults) { ::setenv("TRIBUTARY_DEVICE_FAULTS", faults, 1); }

  static std::string WriteFile(std::vector<device::XclbinContents::Kernel> kernels) {
    const auto bytes = device::WriteXclbin({.kernels = std::move(kernels)});
    EXPECT_TRUE(bytes.ok());
    const std::string path = OwnFolder() + "xrt_positioning_test.xclbin";
    std::ofstream(path, std::ios::binary) << *bytes;
    return path;
  }

  absl::Status CreationError() const { return CreateXrtPositioning(network_, kBatch, options_).status(); }

  std::vector<float> OnCpu(std::span<const float> features) const {
    const std::size_t batch = features.size() / kInputs;
    auto cpu = CreateCpuPositioning(network_, fpga::NumberFormat::kInt8Int16, batch);
    std::vector<float> outputs(batch * kOutputs);
    EXPECT_TRUE((*cpu)->Infer(features, batch, outputs).ok());
    return outputs;
  }

  // Equal to the last bit, NaN included.
  static void ExpectSame(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
  }

  const nn::PositioningNetwork network_ = fpga::RandomPositioningNetwork(3);
  XrtOptions options_;
};

class XrtMatchesCpuTest : public XrtPositioningTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(XrtMatchesCpuTest, BitForBitWithEveryNumberOfComputeUnits) {
  options_.compute_units = GetParam();
  auto xrt = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(xrt.ok()) << xrt.status();
  for (const std::size_t batch : {std::size_t{1}, std::size_t{7}, kBatch}) {
    std::vector<float> features = fpga::RandomFeatures(batch, batch);
    if (batch == 7) features[2 * kInputs + 5] = std::numeric_limits<float>::infinity();
    std::vector<float> outputs(batch * kOutputs);
    const absl::Status status = (*xrt)->Infer(features, batch, outputs);
    ASSERT_TRUE(status.ok()) << status;
    ExpectSame(outputs, OnCpu(features));
  }
  EXPECT_EQ((*xrt)->counters().runs, 1u + 3u + 6u);
}

INSTANTIATE_TEST_SUITE_P(Units, XrtMatchesCpuTest, testing::Values(1, 2));

TEST_F(XrtPositioningTest, ACheckOfTheBoardSendsAsManyParametersAsTheKernelTakes) {
  const auto model = fpga::MakeFixedPositioning(network_, fpga::NumberFormat::kInt8Int16);
  const auto probe =
      std::ranges::find(fpga::kKernelProbes, kXrtPositioningKernel, &fpga::KernelProbe::kernel);
  EXPECT_EQ(probe->parameter_words, fpga::PositioningParameterWords(*model).size());
}

TEST_F(XrtPositioningTest, RefusesABatchOfAnotherSize) {
  auto xrt = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(xrt.ok()) << xrt.status();
  std::vector<float> outputs(kOutputs);
  EXPECT_TRUE(absl::IsInvalidArgument((*xrt)->Infer({}, 1, outputs)));
}

TEST_F(XrtPositioningTest, AHungRunFailsTheBatchAndTheNextOneIsComputed) {
  Inject("hang=2");  // the first run loads the parameters
  options_.run_timeout = std::chrono::milliseconds(300);
  auto xrt = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(xrt.ok()) << xrt.status();
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  const std::vector<float> features = fpga::RandomFeatures(1, 4);
  std::vector<float> outputs(4 * kOutputs);
  const absl::Status hung = (*xrt)->Infer(features, 4, outputs);
  EXPECT_TRUE(absl::IsDeadlineExceeded(hung)) << hung;
  EXPECT_THAT(std::string(hung.message()), HasSubstr("device 0"));
  const absl::Status after = (*xrt)->Infer(features, 4, outputs);
  ASSERT_TRUE(after.ok()) << after;
  ExpectSame(outputs, OnCpu(features));
  EXPECT_EQ((*xrt)->counters().timeouts, 1u);
  EXPECT_EQ((*xrt)->counters().reopened, 1u);
}

TEST_F(XrtPositioningTest, ABoardThatHungIsLeftAloneForAWhileSoThatTheProcessorIsNotHeldUp) {
  Inject("hang_after=2");
  options_.run_timeout = std::chrono::milliseconds(100);
  options_.reopen_interval = std::chrono::hours(1);
  options_.fall_back_to_cpu = true;
  auto fallback = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(fallback.ok()) << fallback.status();
  const std::vector<float> features = fpga::RandomFeatures(1, 1);
  std::vector<float> outputs(kOutputs);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*fallback)->Infer(features, 1, outputs).ok());
  EXPECT_EQ((*fallback)->counters().timeouts, 1u);
  EXPECT_EQ((*fallback)->counters().fallbacks, 3u);
}

TEST_F(XrtPositioningTest, ABoardThatHangsWhileItLoadsIsGivenBack) {
  Inject("hang=1");
  options_.load_timeout = std::chrono::milliseconds(100);
  EXPECT_TRUE(absl::IsDeadlineExceeded(CreationError()));
  // The run was aborted before its buffers were freed: the board is free and computes.
  options_.load_timeout = XrtOptions().load_timeout;
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  EXPECT_TRUE(CreationError().ok());
}

TEST_F(XrtPositioningTest, AFailedTransferOnTheBoardFailsTheBatchOnly) {
  Inject("read_error=2,write_error=4");
  auto xrt = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(xrt.ok()) << xrt.status();
  const std::vector<float> features = fpga::RandomFeatures(1, 1);
  std::vector<float> outputs(kOutputs);
  const absl::Status read = (*xrt)->Infer(features, 1, outputs);
  EXPECT_TRUE(absl::IsInternal(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("a failed read"));
  ASSERT_TRUE((*xrt)->Infer(features, 1, outputs).ok());
  const absl::Status write = (*xrt)->Infer(features, 1, outputs);
  EXPECT_THAT(std::string(write.message()), HasSubstr("a failed write"));
  ASSERT_TRUE((*xrt)->Infer(features, 1, outputs).ok());
  ExpectSame(outputs, OnCpu(features));
  EXPECT_EQ((*xrt)->counters().failed_runs, 2u);
  EXPECT_EQ((*xrt)->counters().reopened, 0u);
}

TEST_F(XrtPositioningTest, ADeviceThatDisappearsIsUnavailableUntilItIsBack) {
  Inject("disappear=2");
  auto xrt = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(xrt.ok()) << xrt.status();
  const std::vector<float> features = fpga::RandomFeatures(1, 1);
  std::vector<float> outputs(kOutputs);
  EXPECT_TRUE(absl::IsUnavailable((*xrt)->Infer(features, 1, outputs)));
  Inject("no_device");
  EXPECT_TRUE(absl::IsUnavailable((*xrt)->Infer(features, 1, outputs)));
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  ASSERT_TRUE((*xrt)->Infer(features, 1, outputs).ok());
  ExpectSame(outputs, OnCpu(features));
}

TEST_F(XrtPositioningTest, NamesTheRemedyForEachFaultOfABoard) {
  struct Case {
    const char* faults;
    absl::StatusCode code;
    const char* remedy;
  };
  for (const Case& each : {Case{"no_device", absl::StatusCode::kUnavailable, "zocl"},
                           Case{"no_permission", absl::StatusCode::kPermissionDenied, "udev"},
                           Case{"memory_bytes=65536", absl::StatusCode::kResourceExhausted, "cma="}}) {
    Inject(each.faults);
    const absl::Status status = CreationError();
    EXPECT_EQ(status.code(), each.code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(each.remedy));
    EXPECT_THAT(std::string(status.message()), HasSubstr("device 0"));
  }
  Inject("wrong_uuid");
  EXPECT_FALSE(CreationError().ok());
}

TEST_F(XrtPositioningTest, RefusesAnXclbinThatIsMissingTruncatedOrNotTheOneAskedFor) {
  const std::string good = options_.xclbin;
  options_.xclbin = "/nonexistent.xclbin";
  EXPECT_TRUE(absl::IsNotFound(CreationError())) << CreationError();

  std::ifstream file(good, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  options_.xclbin = OwnFolder() + "truncated.xclbin";
  for (const std::size_t length : {std::size_t{4}, std::size_t{200}, std::size_t{600}, bytes.size() - 1}) {
    std::ofstream(options_.xclbin, std::ios::binary) << bytes.substr(0, length);
    EXPECT_FALSE(CreationError().ok()) << length;
  }
  options_.xclbin = good;
  options_.xclbin_uuid = "00000000-0000-0000-0000-000000000000";
  EXPECT_TRUE(absl::IsFailedPrecondition(CreationError())) << CreationError();
  options_.xclbin_uuid.clear();
  options_.xclbin = WriteFile({{"loopback_kernel", 1}});
  EXPECT_TRUE(absl::IsNotFound(CreationError())) << CreationError();
}

TEST_F(XrtPositioningTest, TheProcessorTakesOverOnlyWhereTheConfigurationAllowsIt) {
  options_.xclbin = "/nonexistent.xclbin";
  EXPECT_FALSE(CreateXrtPositioning(network_, kBatch, options_).ok());
  options_.fall_back_to_cpu = true;
  auto fallback = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(fallback.ok()) << fallback.status();
  EXPECT_THAT((*fallback)->description(), HasSubstr("cpu"));
}

TEST_F(XrtPositioningTest, TheProcessorDoesNotHideAFolderInPlaceOfTheXclbin) {
  options_.xclbin = OwnFolder();
  options_.fall_back_to_cpu = true;
  const absl::Status status = CheckXrt({kXrtPositioningKernel}, options_);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a directory"));
}

TEST_F(XrtPositioningTest, TheProcessorComputesABatchThatTheBoardFailedWithTheSameNumbers) {
  Inject("read_error=2");
  options_.fall_back_to_cpu = true;
  auto fallback = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(fallback.ok()) << fallback.status();
  const std::vector<float> features = fpga::RandomFeatures(1, 2);
  for (int i = 0; i < 2; ++i) {
    std::vector<float> outputs(2 * kOutputs);
    ASSERT_TRUE((*fallback)->Infer(features, 2, outputs).ok());
    ExpectSame(outputs, OnCpu(features));
  }
  EXPECT_EQ((*fallback)->counters().fallbacks, 1u);
}

TEST_F(XrtPositioningTest, TwoPanelsTakeOneComputeUnitEachAndAThirdIsRefused) {
  auto first = CreateXrtPositioning(network_, kBatch, options_);
  auto second = CreateXrtPositioning(network_, kBatch, options_);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_TRUE(absl::IsResourceExhausted(CreationError())) << CreationError();
}

}  // namespace
}  // namespace tributary::accelerator
