#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/nn/optimise/gaussian_nll.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/workload/workload.h"

namespace tributary::workload {
namespace {

using testing::ElementsAre;

constexpr std::size_t kInputs = 1024;
constexpr std::size_t kOutputs = 5;

// Answers with given outputs, whatever the features.
class Scripted final : public accelerator::Accelerator {
 public:
  explicit Scripted(std::vector<std::array<float, kOutputs>> script, absl::Status status = absl::OkStatus())
      : Accelerator({.inputs = kInputs, .outputs = kOutputs, .max_batch = 2}),
        script_(std::move(script)),
        status_(std::move(status)) {}

  std::string description() const override { return "scripted"; }

 private:
  absl::Status Run(std::span<const float>, std::size_t batch, std::span<float> outputs) override {
    for (std::size_t i = 0; i < batch; ++i, ++next_) {
      std::copy(script_[next_].begin(), script_[next_].end(), outputs.begin() + i * kOutputs);
    }
    return status_;
  }

  std::vector<std::array<float, kOutputs>> script_;
  absl::Status status_;
  std::size_t next_ = 0;
};

source::SensorFrame FrameOf(std::vector<std::uint32_t> subjects) {
  source::SensorFrame frame{
      .epoch = 42, .captured_unix_ns = 21'000'123, .subjects = std::move(subjects), .features = {}};
  frame.features.resize(frame.subjects.size() * kInputs);
  return frame;
}

estimate::TupleFrame RunWith(std::vector<std::array<float, kOutputs>> script, const PanelPose& pose,
                             double scale, std::uint64_t* unusable = nullptr) {
  std::vector<std::uint32_t> subjects;
  for (std::size_t i = 0; i < script.size(); ++i) subjects.push_back(static_cast<std::uint32_t>(100 + i));
  auto workload = *CreatePositioning(std::make_unique<Scripted>(std::move(script)), pose, scale);
  estimate::TupleFrame tuples;
  EXPECT_TRUE(workload->Run(FrameOf(subjects), tuples).ok());
  if (unusable != nullptr) *unusable = workload->unusable_tuples();
  return tuples;
}

TEST(PositioningWorkloadTest, PassesOnEpochTimeAndSubjectsAcrossBatches) {
  const estimate::TupleFrame tuples = RunWith({{1, 2, 0, 0, 0}, {3, 4, 0, 0, 0}, {5, 6, 0, 0, 0}}, {}, 1.0);
  EXPECT_EQ(tuples.epoch, 42);
  EXPECT_EQ(tuples.captured_unix_ns, 21'000'123);
  EXPECT_EQ(tuples.dimension, 2);
  EXPECT_THAT(tuples.subjects, ElementsAre(100, 101, 102));
  EXPECT_THAT(tuples.means, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(tuples.cholesky.size(), 9);
}

TEST(PositioningWorkloadTest, AppliesSoftplusFloorAndCalibration) {
  const estimate::TupleFrame tuples = RunWith({{0, 0, -3, 0.25f, 1}}, {}, 0.5);
  EXPECT_FLOAT_EQ(tuples.cholesky[0], static_cast<float>(0.5 * (nn::Softplus(-3) + 1e-5)));
  EXPECT_FLOAT_EQ(tuples.cholesky[1], 0.125f);
  EXPECT_FLOAT_EQ(tuples.cholesky[2], static_cast<float>(0.5 * (nn::Softplus(1) + 1e-5)));
}

TEST(PositioningWorkloadTest, TurnsAQuarterIntoTheSitesFrame) {
  const PanelPose pose{.x_m = 10.0, .y_m = 20.0, .angle_deg = 90.0};
  const estimate::TupleFrame tuples = RunWith({{1, 2, -1, 0, 1}}, pose, 1.0);
  EXPECT_NEAR(tuples.means[0], 10.0 - 2.0, 1e-6);
  EXPECT_NEAR(tuples.means[1], 20.0 + 1.0, 1e-6);
  // The axes change places.
  EXPECT_NEAR(tuples.cholesky[0], nn::Softplus(1) + 1e-5, 1e-6);
  EXPECT_NEAR(tuples.cholesky[1], 0.0, 1e-6);
  EXPECT_NEAR(tuples.cholesky[2], nn::Softplus(-1) + 1e-5, 1e-6);
}

TEST(PositioningWorkloadTest, TurnsTheCovarianceByAnyAngle) {
  const double angle = 33.0;
  const estimate::TupleFrame tuples = RunWith({{0, 0, -2, 0.3f, 0.5f}}, {.angle_deg = angle}, 1.0);
  const double l11 = nn::Softplus(-2) + 1e-5;
  const double l21 = 0.3f;
  const double l22 = nn::Softplus(0.5) + 1e-5;
  const double a = l11 * l11;
  const double b = l11 * l21;
  const double d = l21 * l21 + l22 * l22;
  const double c = std::cos(angle * std::numbers::pi / 180.0);
  const double s = std::sin(angle * std::numbers::pi / 180.0);
  const float* l = tuples.cholesky.data();
  EXPECT_NEAR(l[0] * l[0], c * c * a - 2 * c * s * b + s * s * d, 1e-6);
  EXPECT_NEAR(l[0] * l[1], c * s * (a - d) + (c * c - s * s) * b, 1e-6);
  EXPECT_NEAR(l[1] * l[1] + l[2] * l[2], s * s * a + 2 * c * s * b + c * c * d, 1e-6);
}

TEST(PositioningWorkloadTest, LeavesOutAndCountsWhatIsNotUsable) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  std::uint64_t unusable = 0;
  const estimate::TupleFrame tuples =
      RunWith({{nan, 0, 0, 0, 0}, {1, 2, 0, 0, 0}, {0, inf, 0, 0, 0}, {0, 0, 0, nan, 0}, {0, 0, inf, 0, 0}},
              {.angle_deg = 90.0}, 1.0, &unusable);
  EXPECT_THAT(tuples.subjects, ElementsAre(101));
  EXPECT_EQ(tuples.means.size(), 2);
  EXPECT_EQ(tuples.cholesky.size(), 3);
  EXPECT_EQ(unusable, 4);
}

TEST(PositioningWorkloadTest, NothingIsLeftAfterADeviceError) {
  auto accelerator = std::make_unique<Scripted>(std::vector<std::array<float, kOutputs>>{{1, 2, 0, 0, 0}},
                                                absl::UnavailableError("device lost"));
  auto workload = *CreatePositioning(std::move(accelerator), {}, 1.0);
  estimate::TupleFrame tuples;
  EXPECT_EQ(workload->Run(FrameOf({7}), tuples).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(tuples.subjects.empty());
  source::SensorFrame cut = FrameOf({7});
  cut.features.pop_back();
  EXPECT_EQ(workload->Run(cut, tuples).code(), absl::StatusCode::kInvalidArgument);
}

TEST(PositioningWorkloadTest, RefusesAScaleThatIsNotPositive) {
  EXPECT_FALSE(
      CreatePositioning(std::make_unique<Scripted>(std::vector<std::array<float, kOutputs>>{}), {}, 0.0)
          .ok());
}

}  // namespace
}  // namespace tributary::workload
