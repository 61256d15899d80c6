#include "cli/offline/recognise_bursts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/parameters/npy.h"
#include "core/radio/burst.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

class RecogniseBurstsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(OwnFolder()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    Write("m.safetensors", nn::EncodeModulation(network_));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(runtime::WriteFileAtomically(Path(name), content).ok());
  }
  void WriteBursts(const std::vector<std::uint64_t>& shape, const std::vector<float>& values) {
    Write("x.npy", parameters::EncodeNpy(shape, values));
  }
  static std::vector<float> Tones(std::size_t count) {
    std::vector<float> bursts(count * radio::kBurstFeatures);
    std::vector<std::uint8_t> classes(count);
    nn::DrawTones(1, bursts, classes);
    return bursts;
  }
  absl::Status Run() {
    return RecogniseBursts(Path("m.safetensors"), Path("x.npy"), fpga::NumberFormat::kFloat, Path("y.npy"));
  }
  parameters::NpyArray Result() { return *parameters::DecodeNpy(*runtime::ReadFile(Path("y.npy"))); }

  std::filesystem::path folder_;
  const nn::ModulationNetwork network_ =
      nn::RandomModulationNetwork(*nn::FindModulationArchitecture("compact"));
};

TEST_F(RecogniseBurstsTest, WritesCalibratedLogProbabilities) {
  constexpr std::size_t kCount = 70;  // more than one batch
  WriteBursts({kCount, 2, 128}, Tones(kCount));
  ASSERT_TRUE(Run().ok());
  const auto result = Result();
  EXPECT_EQ(result.shape, (std::vector<std::uint64_t>{kCount, 10}));
  std::vector<float> burst = Tones(kCount), logits(10);
  burst.erase(burst.begin(), burst.end() - radio::kBurstFeatures);
  radio::NormaliseBurst(std::span(burst).first<radio::kBurstFeatures>());
  nn::ModulationInference(network_).Run(burst, 1, logits);
  const float* row = &result.values[69 * 10];
  double sum = 0;
  for (std::size_t k = 0; k < 10; ++k) {
    sum += std::exp(row[k]);
    // The batch of 64 lanes and the batch of one round alike: each lane is computed by itself.
    EXPECT_NEAR(row[k] - row[0], (logits[k] - logits[0]) / network_.temperature, 1e-5);
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(RecogniseBurstsTest, ThePowerOfABurstDoesNotMatter) {
  std::vector<float> bursts = Tones(2);
  WriteBursts({2, 2, 128}, bursts);
  ASSERT_TRUE(Run().ok());
  const auto before = Result().values;
  for (float& sample : bursts) sample *= 1024;  // exact
  WriteBursts({2, 2, 128}, bursts);
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Result().values, before);
}

TEST_F(RecogniseBurstsTest, GivesAnEmptyArrayForAnEmptyArray) {
  WriteBursts({0, 2, 128}, {});
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(Result().shape, (std::vector<std::uint64_t>{0, 10}));
}

TEST_F(RecogniseBurstsTest, RefusesAnotherShape) {
  for (const std::vector<std::uint64_t>& shape :
       {std::vector<std::uint64_t>{256}, {1, 256}, {1, 128, 2}, {2, 2, 64}, {1, 2, 128, 1}}) {
    WriteBursts(shape, Tones(1));
    EXPECT_THAT(Run().message(), HasSubstr("not [n, 2, 128]"));
  }
  EXPECT_FALSE(std::filesystem::exists(Path("y.npy")));
}

TEST_F(RecogniseBurstsTest, NamesTheBurstThatCannotBeUsed) {
  const auto refusal = [&](std::size_t at, float value) {
    std::vector<float> bursts = Tones(3);
    bursts[256 + at] = value;
    WriteBursts({3, 2, 128}, bursts);
    return Run();
  };
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(refusal(200, value).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(refusal(200, value).message(), HasSubstr("burst 1 is not finite"));
  }
  std::vector<float> bursts = Tones(2);
  std::fill_n(bursts.begin() + 256, 256, 0.0f);
  WriteBursts({2, 2, 128}, bursts);
  EXPECT_THAT(Run().message(), HasSubstr("burst 1 has no power"));
  std::fill_n(bursts.begin(), 128, 2.0f);
  WriteBursts({2, 2, 128}, bursts);
  EXPECT_THAT(Run().message(), HasSubstr("burst 0 is clipped"));
  EXPECT_FALSE(std::filesystem::exists(Path("y.npy")));
}

TEST_F(RecogniseBurstsTest, RefusesAModelOfAnotherKind) {
  WriteBursts({1, 2, 128}, Tones(1));
  const absl::Status status = RecogniseBursts(TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors",
                                              Path("x.npy"), fpga::NumberFormat::kFloat, Path("y.npy"));
  EXPECT_THAT(status.message(), HasSubstr("not a modulation model"));
}

TEST_F(RecogniseBurstsTest, ReadsASigmfRecordingAsItsBursts) {
  const std::vector<float> bursts = Tones(3);
  WriteBursts({3, 2, 128}, bursts);
  ASSERT_TRUE(Run().ok());
  const std::vector<float> expected = Result().values;
  std::vector<float> interleaved;
  for (std::size_t n = 0; n < 3 * radio::kBurstSamples; ++n) {
    const std::size_t place = n / radio::kBurstSamples * radio::kBurstFeatures + n % radio::kBurstSamples;
    interleaved.insert(interleaved.end(), {bursts[place], bursts[place + radio::kBurstSamples]});
  }
  Write("x.sigmf-data",
        std::string(reinterpret_cast<const char*>(interleaved.data()), interleaved.size() * sizeof(float)));
  Write("x.sigmf-meta", R"({"global": {"core:version": "1.0.0", "core:datatype": "cf32_le"},
                            "captures": [{"core:sample_start": 0}]})");
  ASSERT_TRUE(
      RecogniseBursts(Path("m.safetensors"), Path("x.sigmf-meta"), fpga::NumberFormat::kFloat, Path("y.npy"))
          .ok());
  EXPECT_EQ(Result().values, expected);
}

TEST_F(RecogniseBurstsTest, NamesFileAndFieldOfASigmfRecordingThatItCannotRead) {
  Write("x.sigmf-meta", R"({"global": {"core:version": "1.0.0", "core:datatype": "rf32_le"}})");
  const absl::Status status =
      RecogniseBursts(Path("m.safetensors"), Path("x.sigmf-meta"), fpga::NumberFormat::kFloat, Path("y.npy"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("x.sigmf-meta: global.core:datatype: found"));
}

}  // namespace
}  // namespace tributary::cli
