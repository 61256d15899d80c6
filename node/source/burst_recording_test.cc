#include "node/source/burst_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>

namespace tributary::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

parameters::NpyArray Counting(std::vector<std::uint64_t> shape) {
  std::uint64_t size = 1;
  for (const std::uint64_t n : shape) size *= n;
  parameters::NpyArray array{.shape = std::move(shape), .values = std::vector<float>(size)};
  std::iota(array.values.begin(), array.values.end(), 0.0f);
  return array;
}

TEST(BurstRecordingTest, TakesBurstsOfTwoRows) {
  const auto one = BurstsOfNpy(Counting({5, 2, 128}));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(one->shape, ElementsAre(5, 256));
  EXPECT_EQ(one->values[256 + 128], 384);  // the first Q of the second burst
  const auto several = BurstsOfNpy(Counting({5, 3, 2, 128}));
  ASSERT_TRUE(several.ok()) << several.status();
  EXPECT_THAT(several->shape, ElementsAre(5, 3, 256));
}

TEST(BurstRecordingTest, TakesFeaturesAsTheyAre) {
  EXPECT_THAT(BurstsOfNpy(Counting({4, 256}))->shape, ElementsAre(4, 256));
  EXPECT_THAT(BurstsOfNpy(Counting({4, 2, 256}))->shape, ElementsAre(4, 2, 256));
}

TEST(BurstRecordingTest, RefusesOtherShapes) {
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{{},
                                                                   {256},
                                                                   {2, 128},
                                                                   {4, 128, 2},
                                                                   {4, 2, 127},
                                                                   {4, 1, 128},
                                                                   {4, 255},
                                                                   {1, 1, 1, 2, 128},
                                                                   {1, 1, 1, 256}}) {
    EXPECT_THAT(BurstsOfNpy(Counting(shape)).status().message(), HasSubstr("shape: [")) << shape.size();
  }
}

constexpr std::string_view kMetadata =
    R"({"global": {"core:version": "1.2.0", "core:datatype": "cf32_le", "core:sample_rate": 200e3},
        "captures": [{"core:sample_start": 0}]})";

TEST(BurstRecordingTest, ReadsASigmfRecording) {
  const std::string data(3 * 128 * 8, '\0');
  const auto bursts = BurstsOfSigmf(kMetadata, data, 200'000);
  ASSERT_TRUE(bursts.ok()) << bursts.status();
  EXPECT_THAT(bursts->shape, ElementsAre(3, 256));
  EXPECT_EQ(bursts->values.size(), 3u * 256);
}

TEST(BurstRecordingTest, RefusesAnotherSampleRateUnlessAnyWillDo) {
  const std::string data(128 * 8, '\0');
  EXPECT_THAT(std::string(BurstsOfSigmf(kMetadata, data, 1e6).status().message()),
              HasSubstr("global.core:sample_rate: 200000, the source's sample_rate_hz is 1e+06"));
  EXPECT_TRUE(BurstsOfSigmf(kMetadata, data, 0).ok());
}

TEST(BurstRecordingTest, HandsOnTheReadersErrors) {
  EXPECT_EQ(BurstsOfSigmf("{", "", 0).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(BurstsOfSigmf(kMetadata, "12345", 0).status().message()), HasSubstr("5 bytes"));
}

}  // namespace
}  // namespace tributary::source
