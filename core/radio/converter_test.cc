#include "core/radio/converter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/scene/gaussian_noise.h"

namespace tributary::radio {
namespace {

class ConverterTest : public testing::Test {
 protected:
  ConverterTest() {
    scene::FillGaussianNoise(1, 0, given_.i);
    scene::FillGaussianNoise(1, 1, given_.q);
    for (auto* part : {&given_.i, &given_.q}) {
      for (const float x : *part) rms_ += static_cast<double>(x) * x / (2 * kBurstSamples);
    }
    rms_ = std::sqrt(rms_);
  }

  Received Converted(const ConverterOptions& options) const {
    Received received = given_;
    Convert(options, received);
    return received;
  }

  Received given_;
  double rms_ = 0;
};

TEST_F(ConverterTest, IsExactWithoutBits) { EXPECT_EQ(Converted({.bits = 0}).i, given_.i); }

// An error uniform within a step has the variance step² / 12; over 256 numbers its standard error is 5.6 %.
TEST_F(ConverterTest, RoundsToItsWords) {
  const Received converted = Converted({.bits = 8, .full_scale = 6});
  const double step = 6 * rms_ / 128;
  double square = 0;
  for (std::size_t n = 0; n < kBurstSamples; ++n) {
    EXPECT_NEAR(converted.i[n] / step, std::round(converted.i[n] / step), 1e-4);
    square += std::pow(converted.i[n] - given_.i[n], 2) + std::pow(converted.q[n] - given_.q[n], 2);
  }
  EXPECT_NEAR(square / (2 * kBurstSamples) / (step * step / 12), 1, 5 * 0.056);
}

TEST_F(ConverterTest, ClipsAtItsFullScale) {
  const Received converted = Converted({.bits = 12, .full_scale = 1});
  const auto [least, most] = std::ranges::minmax(converted.i);
  EXPECT_NEAR(least, -rms_, 1e-6);
  EXPECT_NEAR(most, rms_ * 2047 / 2048, 1e-6);
}

TEST_F(ConverterTest, LeavesSilence) {
  given_.i.fill(0);
  given_.q.fill(0);
  EXPECT_EQ(Converted({.bits = 12, .full_scale = 1}).q, given_.q);
}

}  // namespace
}  // namespace tributary::radio
