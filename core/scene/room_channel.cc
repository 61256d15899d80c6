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
void AddPaths(const RoomPath* paths, std::size_t count, float clock_m, const PanelArray& antennas,
              const AntennaGains& gains, float* features) {
  const hn::CappedTag<float, kPanelAntennas> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto first_turns_per_m = static_cast<float>(
      (antennas.carrier_hz() - 0.5 * (kSubcarriers - 1) * kSubcarrierSpacingHz) / kSpeedOfLightMPerS);
  constexpr float kStepTurnsPerM = static_cast<float>(kSubcarrierSpacingHz / kSpeedOfLightMPerS);
  constexpr float kWallY = static_cast<float>(-kRoomSideM / 2);
  HWY_ALIGN float real[kSubcarriers * kPanelAntennas];  // subcarrier-major
  HWY_ALIGN float imaginary[kSubcarriers * kPanelAntennas];

  for (std::size_t antenna = 0; antenna < kPanelAntennas; antenna += lanes) {
    const auto gain_re = hn::Load(d, gains.real.data() + antenna);
    const auto gain_im = hn::Load(d, gains.imaginary.data() + antenna);
    for (std::size_t p = 0; p < count; ++p) {
      const RoomPath& path = paths[p];
      const auto dx = hn::Sub(hn::Set(d, path.x), hn::Load(d, antennas.x.data() + antenna));
      const auto dz = hn::Sub(hn::Set(d, path.z), hn::Load(d, antennas.z.data() + antenna));
      const auto dy = hn::Set(d, path.y - kWallY);
      const auto last_m = hn::Sqrt(hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz))));
      const auto distance = hn::Add(last_m, hn::Set(d, path.before_m));
      const auto cos_theta = hn::Max(hn::Div(dy, last_m), hn::Zero(d));
      const auto amplitude =
          hn::Mul(hn::Div(hn::Set(d, path.gain * static_cast<float>(kReferenceDistanceM)), distance),
                  hn::Sqrt(cos_theta));
      const auto apparent = hn::Add(distance, hn::Set(d, clock_m));

      auto re = hn::Zero(d), im = hn::Zero(d), step_re = hn::Zero(d), step_im = hn::Zero(d);
      CosSinTurns(d, hn::Mul(apparent, hn::Set(d, -first_turns_per_m)), re, im);
      CosSinTurns(d, hn::Mul(apparent, hn::Set(d, -kStepTurnsPerM)), step_re, step_im);
      const auto received_re = hn::Mul(amplitude, hn::NegMulAdd(im, gain_im, hn::Mul(re, gain_re)));
      im = hn::Mul(amplitude, hn::MulAdd(im, gain_re, hn::Mul(re, gain_im)));
      re = received_re;
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

HWY_EXPORT(AddPaths);

std::array<RoomPath, kMirrorPaths> MirrorPaths(RoomPosition user, double height_m,
                                               const std::array<double, kMirrorPaths - 1>& reflections,
                                               const Surroundings& surroundings) {
  const float x = static_cast<float>(user.x);
  const float y = static_cast<float>(user.y);
  const float z = static_cast<float>(height_m);
  const auto twice = [](double place) { return static_cast<float>(2 * place); };
  const auto gain = [&reflections](std::size_t surface) { return static_cast<float>(reflections[surface]); };
  return {{{x, y, z, 1.0f},
           {twice(surroundings.right) - x, y, z, gain(0)},
           {twice(surroundings.left) - x, y, z, gain(1)},
           {x, twice(surroundings.front) - y, z, gain(2)},
           {x, y, -z, gain(3)},
           {x, y, twice(surroundings.ceiling) - z, gain(4)}}};
}

PanelArray::PanelArray(double carrier_hz, double height_m) : carrier_hz_(carrier_hz) {
  const double wavelength_m = kSpeedOfLightMPerS / carrier_hz;
  for (std::size_t antenna = 0; antenna < kPanelAntennas; ++antenna) {
    const double column = static_cast<double>(antenna % kPanelColumns) - (kPanelColumns - 1) / 2.0;
    const std::size_t rows_below = antenna / kPanelColumns;
    const double row = static_cast<double>(rows_below) - (kPanelRows - 1) / 2.0;
    x[antenna] = static_cast<float>(column * wavelength_m / 2);
    z[antenna] = static_cast<float>(height_m + row * wavelength_m / 2);
  }
}

AntennaGains::AntennaGains() {
  real.fill(1.0f);
  imaginary.fill(0.0f);
}

void ComputeChannel(std::span<const RoomPath> paths, double clock_m, const AntennaGains& gains,
                    std::span<float, kChannelFeatures> features, const PanelArray& array) {
  HWY_DYNAMIC_DISPATCH(AddPaths)
  (paths.data(), paths.size(), static_cast<float>(clock_m), array, gains, features.data());
}

void ComputeRoomChannel(RoomPosition user, std::span<float, kChannelFeatures> features) {
  constexpr std::array<double, kMirrorPaths - 1> kReflections = {kReflection, kReflection, kReflection,
                                                                 kReflection, kReflection};
  ComputeChannel(MirrorPaths(user, kUserHeightM, kReflections), 0.0, AntennaGains(), features);
}

}  // namespace tributary::scene
#endif
