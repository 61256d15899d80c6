#include <cmath>
#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/workload/workload.h"

namespace tributary::workload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kBurst = 256;

// The logits are the first features of each burst.
class Echo final : public accelerator::Accelerator {
 public:
  explicit Echo(std::size_t classes, absl::Status status = absl::OkStatus())
      : Accelerator({.inputs = kBurst, .outputs = classes, .max_batch = 2}), status_(std::move(status)) {}
  std::string description() const override { return "echo"; }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    const std::size_t classes = shape().outputs;
    for (std::size_t i = 0; i < batch; ++i) {
      std::copy_n(&features[i * kBurst], classes, &outputs[i * classes]);
    }
    return status_;
  }
  absl::Status status_;
};

class CategoricalWorkloadTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Workload> Make(double temperature = 1) {
    return *CreateCategorical(std::make_unique<Echo>(3), kBurst, 3, temperature);
  }
  static source::SensorFrame FrameOf(const std::vector<std::vector<float>>& logits) {
    source::SensorFrame frame{.epoch = 42, .captured_unix_ns = 77, .subjects = {}, .features = {}};
    for (const std::vector<float>& row : logits) {
      frame.subjects.push_back(static_cast<std::uint32_t>(100 + frame.subjects.size()));
      frame.features.insert(frame.features.end(), row.begin(), row.end());
      frame.features.resize(frame.subjects.size() * kBurst);
    }
    return frame;
  }
  static double SumOf(const estimate::TupleFrame& tuples, std::size_t row) {
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::exp(tuples.log_probabilities[3 * row + c]);
    return sum;
  }

  estimate::TupleFrame tuples_;
};

TEST_F(CategoricalWorkloadTest, GivesLogProbabilitiesOfEachSubjectAcrossBatches) {
  ASSERT_TRUE(Make()->Run(FrameOf({{0, 0, 0}, {2, 1, 0}, {-5, 90, 3}}), tuples_).ok());
  EXPECT_EQ(tuples_.epoch, 42);
  EXPECT_EQ(tuples_.captured_unix_ns, 77);
  EXPECT_EQ(tuples_.shape(), (estimate::TupleShape{0, 3}));
  EXPECT_THAT(tuples_.subjects, ElementsAre(100, 101, 102));
  ASSERT_EQ(tuples_.log_probabilities.size(), 9u);
  for (std::size_t row = 0; row < 3; ++row) EXPECT_NEAR(SumOf(tuples_, row), 1, 1e-6);
  EXPECT_NEAR(tuples_.log_probabilities[0], -std::log(3.0), 1e-6);
  EXPECT_NEAR(tuples_.log_probabilities[3] - tuples_.log_probabilities[5], 2, 1e-6);
  EXPECT_NEAR(tuples_.log_probabilities[6], -95, 1e-5);
}

TEST_F(CategoricalWorkloadTest, DividesLogitsByTheTemperature) {
  ASSERT_TRUE(Make(4)->Run(FrameOf({{2, 1, 0}}), tuples_).ok());
  EXPECT_NEAR(tuples_.log_probabilities[0] - tuples_.log_probabilities[2], 0.5, 1e-6);
  EXPECT_NEAR(SumOf(tuples_, 0), 1, 1e-6);
}

TEST_F(CategoricalWorkloadTest, SurvivesLogitsOfAnySize) {
  const float most = std::numeric_limits<float>::max();
  const auto workload = Make(1e-3);
  ASSERT_TRUE(workload->Run(FrameOf({{most, -most, 0}}), tuples_).ok());
  EXPECT_NEAR(SumOf(tuples_, 0), 1, 1e-6);
  for (const float each : tuples_.log_probabilities) EXPECT_FALSE(std::isnan(each));
  EXPECT_EQ(workload->unusable_tuples(), 0u);
}

TEST_F(CategoricalWorkloadTest, LeavesOutAndCountsLogitsThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto workload = Make();
  ASSERT_TRUE(
      workload->Run(FrameOf({{nan, 0, 0}, {1, 0, 0}, {0, infinity, 0}, {-infinity, 0, 0}}), tuples_).ok());
  EXPECT_THAT(tuples_.subjects, ElementsAre(101));
  EXPECT_EQ(tuples_.log_probabilities.size(), 3u);
  EXPECT_EQ(workload->unusable_tuples(), 3u);
}

TEST_F(CategoricalWorkloadTest, LeavesNothingOfPositionsInAReusedFrame) {
  tuples_.means = {1, 2};
  tuples_.cholesky = {1, 0, 1};
  tuples_.contributors = {1};
  ASSERT_TRUE(Make()->Run(FrameOf({{1, 2, 3}}), tuples_).ok());
  EXPECT_TRUE(tuples_.means.empty());
  EXPECT_TRUE(tuples_.cholesky.empty());
  EXPECT_TRUE(tuples_.contributors.empty());
}

TEST_F(CategoricalWorkloadTest, IsEmptyAfterAnError) {
  auto workload = *CreateCategorical(std::make_unique<Echo>(3, absl::UnavailableError("gone")), kBurst, 3, 1);
  EXPECT_EQ(workload->Run(FrameOf({{1, 2, 3}}), tuples_).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(tuples_.subjects.empty());
  source::SensorFrame bad = FrameOf({{1, 2, 3}});
  bad.features.pop_back();
  EXPECT_EQ(Make()->Run(bad, tuples_).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CategoricalWorkloadTest, RefusesAnAcceleratorOrATemperatureThatDoesNotFit) {
  const auto fault = [](std::size_t of_accelerator, std::size_t classes, double temperature) {
    const auto created =
        CreateCategorical(std::make_unique<Echo>(of_accelerator), kBurst, classes, temperature);
    EXPECT_EQ(created.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(created.status().message());
  };
  EXPECT_THAT(fault(3, 10, 1), HasSubstr("needs an accelerator of 256 inputs and 10 outputs"));
  EXPECT_THAT(fault(1, 1, 1), HasSubstr("1 classes apart"));
  for (const double bad : {0.0, -1.0, 1e-9, 1e9, std::nan("")}) {
    EXPECT_THAT(fault(3, 3, bad), HasSubstr("temperature")) << bad;
  }
}

}  // namespace
}  // namespace tributary::workload
