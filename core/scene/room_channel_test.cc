#include "core/scene/room_channel.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <numbers>

namespace tributary::scene {
namespace {

using Complex = std::complex<double>;

// One element of the channel by the definition, in double.
Complex ReferenceChannel(RoomPosition user, std::size_t antenna, std::size_t subcarrier) {
  const double antenna_x = (static_cast<double>(antenna % 8) - 3.5) * kWavelengthM / 2;
  const double antenna_z = 2.0 + (static_cast<double>(antenna / 8) - 3.5) * kWavelengthM / 2;
  const double frequency = 3.7e9 + (static_cast<double>(subcarrier) - 3.5) * 12.5e6;
  const double images[6][4] = {{user.x, user.y, 1, 1},          {10 - user.x, user.y, 1, -0.3},
                               {-10 - user.x, user.y, 1, -0.3}, {user.x, 10 - user.y, 1, -0.3},
                               {user.x, user.y, -1, -0.3},      {user.x, user.y, 5, -0.3}};
  const auto free_space = [](double d) { return kWavelengthM / (4 * std::numbers::pi * d); };
  Complex sum = 0;
  for (const auto& [x, y, z, gain] : images) {
    const double distance = std::hypot(x - antenna_x, y + 5, z - antenna_z);
    const double amplitude = gain * free_space(distance) * std::sqrt((y + 5) / distance) / free_space(5);
    sum += std::polar(amplitude, -2 * std::numbers::pi * frequency * distance / 299'792'458.0);
  }
  return sum;
}

// Distances are float32: an error of half a unit in the last place at 20 m, 1e-6 m, is 8e-5 rad at 3.7 GHz;
// the strongest path has amplitude 3, the reflections together less than 1.
constexpr double kTolerance = 4 * 8e-5;

TEST(RoomChannelTest, IsTheSumOfTheSixPathsAtEachAntennaAndSubcarrier) {
  for (const RoomPosition user : {RoomPosition{1.3, -4.1}, RoomPosition{-4.5, 4.5}, RoomPosition{0, -4.5}}) {
    std::array<float, kChannelFeatures> features;
    ComputeRoomChannel(user, features);
    for (std::size_t antenna = 0; antenna < kPanelAntennas; ++antenna) {
      for (std::size_t k = 0; k < kSubcarriers; ++k) {
        const std::size_t index = antenna * kSubcarriers + k;
        const Complex expected = ReferenceChannel(user, antenna, k);
        EXPECT_NEAR(features[index], expected.real(), kTolerance);
        EXPECT_NEAR(features[index + kChannelFeatures / 2], expected.imag(), kTolerance);
      }
    }
  }
}

}  // namespace
}  // namespace tributary::scene
