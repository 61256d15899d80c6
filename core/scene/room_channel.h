// What a panel of the simulated room receives from a user. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/scene/room.h"
#include "core/scene/room_plan.h"

namespace tributary::scene {

// One ray: from the user, from its mirror image behind a surface, or from an object that scatters.
struct RoomPath {
  float x, y, z;       // where the ray comes from, in the panel's frame, m
  float gain;          // of the amplitude
  float before_m = 0;  // the way to that point
};

inline constexpr std::size_t kMirrorPaths = 6;  // the user, three walls, floor and ceiling
inline constexpr std::size_t kMostScatterers = 3;
inline constexpr std::size_t kMostPaths = kMirrorPaths + kMostScatterers;

// The user and its five mirror images. The wall that carries the panel reflects nothing towards it. Each
// gain is that of the surface that reflects: the walls to the panel's right (+x), left and front, floor,
// ceiling.
std::array<RoomPath, kMirrorPaths> MirrorPaths(RoomPosition user, double height_m,
                                               const std::array<double, kMirrorPaths - 1>& reflections,
                                               const Surroundings& surroundings = {});

// A panel's half-wave array, centred on (0, -5 m) of its frame.
class PanelArray {
 public:
  explicit PanelArray(double carrier_hz = kCarrierHz, double height_m = kPanelHeightM);

  double carrier_hz() const { return carrier_hz_; }

  alignas(64) std::array<float, kPanelAntennas> x;
  alignas(64) std::array<float, kPanelAntennas> z;

 private:
  double carrier_hz_;
};

// What each antenna of a panel multiplies what it receives by.
struct AntennaGains {
  AntennaGains();  // ideal: 1

  alignas(64) std::array<float, kPanelAntennas> real;
  alignas(64) std::array<float, kPanelAntennas> imaginary;
};

// The sum of at least one path, without noise. Features: 512 real parts, antenna-major and subcarrier-minor,
// then 512 imaginary parts, in units of the line of sight's amplitude at 5 m. The phase is the carrier's at
// the antennas, not aligned. `clock_m`: how much longer all paths seem than they are, since the clocks
// differ.
void ComputeChannel(std::span<const RoomPath> paths, double clock_m, const AntennaGains& gains,
                    std::span<float, kChannelFeatures> features, const PanelArray& array = PanelArray());

// That of the ideal room; `user` is in the panel's frame.
void ComputeRoomChannel(RoomPosition user, std::span<float, kChannelFeatures> features);

}  // namespace tributary::scene
