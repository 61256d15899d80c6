#include "core/scene/room_channel.h"

#include <array>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/scene/room_channel.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which it does not include itself.
// clang-format off
#include "hwy/contrib/math/math-inl.h"
// clang-format on
#include "core/scene/gaussian_noise.h"

#ifndef TRIBUTARY_CORE_SCENE_ROOM_CHANNEL_PATHS
#define TRIBUTARY_CORE_SCENE_ROOM_CHANNEL_PATHS
namespace tributary::scene {
namespace {

// One ray: from the user or from its mirror image behind a wall, the floor or the ceiling.
struct Path {
  float x, y, z;
  float gain;
};

constexpr std::size_t kPaths = 6;

// The wall that carries the panel reflects nothing towards it.
std::array<Path, kPaths> Paths(RoomPosition user) {
  const float x = static_cast<float>(user.x);
  const float y = static_cast<float>(user.y);
  constexpr float kSide = kRoomSideM;
  constexpr float kHeight = kUserHeightM;
  constexpr float kGain = kReflection;
  return {{{x, y, kHeight, 1.0f},
           {kSide - x, y, kHeight, kGain},
           {-kSide - x, y, kHeight, kGain},
           {x, kSide - y, kHeight, kGain},
           {x, y, -kHeight, kGain},
           {x, y, static_cast<float>(2 * kRoomHeightM) - kHeight, kGain}}};
}

// Half-wave array centred on the wall y = -5 m.
struct AntennaPositions {
  alignas(64) std::array<float, kPanelAntennas> x;
  alignas(64) std::array<float, kPanelAntennas> z;

  AntennaPositions() {
    for (std::size_t antenna = 0; antenna < kPanelAntennas; ++antenna) {
      const double column = static_cast<double>(antenna % kPanelColumns) - (kPanelColumns - 1) / 2.0;
      const double row = static_cast<double>(antenna / kPanelColumns) - (kPanelRows - 1) / 2.0;
      x[antenna] = static_cast<float>(column * kWavelengthM / 2);
      z[antenna] = static_cast<float>(kPanelHeightM + row * kWavelengthM / 2);
    }
  }
};

}  // namespace
}  // namespace tributary::scene
#endif

HWY_BEFORE_NAMESPACE();
namespace tributary::scene {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// cos and sin of 2π·turns; only the fraction of a turn counts.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void CosSinTurns(D d, V turns, V& cosine, V& sine) {
  const auto angle = hn::Mul(hn::Sub(turns, hn::Round(turns)), hn::Set(d, 2 * std::numbers::pi_v<float>));
  cosine = hn::Cos(d, angle);
  sine = hn::Sin(d, angle);
}

// The phase of a subcarrier is that of the one before it, turned by the delay times the spacing. That takes
// two sines and cosines per path and antenna instead of eight. The rounding error of seven complex products
// is below 1e-6.
void ComputeChannel(const Path* paths, const float* antenna_x, const float* antenna_z, float* features) {
  const hn::CappedTag<float, kPanelAntennas> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  constexpr float kFirstTurnsPerM =
      static_cast<float>((kCarrierHz - 0.5 * (kSubcarriers - 1) * kSubcarrierSpacingHz) / kSpeedOfLightMPerS);
  constexpr float kStepTurnsPerM = static_cast<float>(kSubcarrierSpacingHz / kSpeedOfLightMPerS);
  constexpr float kWallY = static_cast<float>(-kRoomSideM / 2);
  HWY_ALIGN float real[kSubcarriers * kPanelAntennas];  // subcarrier-major
  HWY_ALIGN float imaginary[kSubcarriers * kPanelAntennas];

  for (std::size_t antenna = 0; antenna < kPanelAntennas; antenna += lanes) {
    for (std::size_t p = 0; p < kPaths; ++p) {
      const Path& path = paths[p];
      const auto dx = hn::Sub(hn::Set(d, path.x), hn::Load(d, antenna_x + antenna));
      const auto dz = hn::Sub(hn::Set(d, path.z), hn::Load(d, antenna_z + antenna));
      const auto dy = hn::Set(d, path.y - kWallY);
      const auto distance = hn::Sqrt(hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz))));
      const auto inverse = hn::Div(hn::Set(d, 1.0f), distance);
      const auto cos_theta = hn::Max(hn::Mul(dy, inverse), hn::Zero(d));
      const auto amplitude =
          hn::Mul(hn::Mul(hn::Set(d, path.gain * static_cast<float>(kReferenceDistanceM)), inverse),
                  hn::Sqrt(cos_theta));

      auto re = hn::Zero(d), im = hn::Zero(d), step_re = hn::Zero(d), step_im = hn::Zero(d);
      CosSinTurns(d, hn::Mul(distance, hn::Set(d, -kFirstTurnsPerM)), re, im);
      CosSinTurns(d, hn::Mul(distance, hn::Set(d, -kStepTurnsPerM)), step_re, step_im);
      re = hn::Mul(re, amplitude);
      im = hn::Mul(im, amplitude);
      for (std::size_t k = 0; k < kSubcarriers; ++k) {
        float* out_re = real + k * kPanelAntennas + antenna;
        float* out_im = imaginary + k * kPanelAntennas + antenna;
        hn::Store(p == 0 ? re : hn::Add(re, hn::Load(d, out_re)), d, out_re);
        hn::Store(p == 0 ? im : hn::Add(im, hn::Load(d, out_im)), d, out_im);
        const auto next_re = hn::NegMulAdd(im, step_im, hn::Mul(re, step_re));
        im = hn::MulAdd(im, step_re, hn::Mul(re, step_im));
        re = next_re;
      }
    }
  }

  const auto stride = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int>(kSubcarriers)));
  for (std::size_t antenna = 0; antenna < kPanelAntennas; antenna += lanes) {
    float* out = features + antenna * kSubcarriers;
    for (std::size_t k = 0; k < kSubcarriers; ++k) {
      const std::size_t from = k * kPanelAntennas + antenna;
      hn::ScatterIndex(hn::Load(d, real + from), d, out + k, stride);
      hn::ScatterIndex(hn::Load(d, imaginary + from), d, out + k + kChannelFeatures / 2, stride);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tributary::scene
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::scene {

HWY_EXPORT(ComputeChannel);

void ComputeRoomChannel(RoomPosition user, std::span<float, kChannelFeatures> features) {
  static const AntennaPositions antennas;
  HWY_DYNAMIC_DISPATCH(ComputeChannel)
  (Paths(user).data(), antennas.x.data(), antennas.z.data(), features.data());
}

RoomPosition RoomExamples::User(std::uint64_t index) const {
  return {kUserRangeM * (2 * UniformAt(seed, 2 * index) - 1),
          kUserRangeM * (2 * UniformAt(seed, 2 * index + 1) - 1)};
}

void RoomExamples::Sense(std::uint64_t index, Wall wall, std::span<float, kChannelFeatures> features) const {
  constexpr float kDeviationPerPart = static_cast<float>(kNoiseDeviation / std::numbers::sqrt2);
  ComputeRoomChannel(ToPanelFrame(wall, User(index)), features);
  std::array<float, kChannelFeatures> noise;
  FillGaussianNoise(~seed, 4 * index + static_cast<std::uint64_t>(wall), noise);
  for (std::size_t i = 0; i < kChannelFeatures; ++i) features[i] += kDeviationPerPart * noise[i];
}

}  // namespace tributary::scene
#endif
