#include "core/scene/room_examples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "core/scene/gaussian_noise.h"

namespace tributary::scene {
namespace {

constexpr std::size_t kPanels = kWallCount;
constexpr double kPerDegree = std::numbers::pi / 180;
constexpr double kNsToM = 1e-9 * kSpeedOfLightMPerS;
// An object of a room scatters less than a wall reflects.
constexpr double kScattererGain = 0.3;

constexpr double kDbPerNeper = 8.685889638;  // 20 / ln 10

// Keep the draws of world, panel and antennas apart.
constexpr std::uint64_t kWorldDraws = 0x6d9f'2b1c'55d1'8f03;
constexpr std::uint64_t kPanelDraws = 0x1f83'd9ab'fb41'bd6b;
constexpr std::uint64_t kAntennaDraws = 0xa54f'f53a'5f1d'36f1;

double FromDb(double db) { return std::pow(10.0, db / 20); }

// Uniform and normal numbers of one user, in the order in which they are asked for.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t index) : seed_(MixBits(seed, index)) {}

  double Uniform() { return UniformAt(seed_, next_++); }
  double Between(Range range) { return range.least + (range.most - range.least) * Uniform(); }
  double Even(double most) { return most * (2 * Uniform() - 1); }
  bool Happens(double probability) { return Uniform() < probability; }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

// What all panels see of one user.
struct World {
  double height_m;
  double noise_deviation;
  double clock_m;
  std::array<double, kPanels> walls;  // reflections, south, east, north, west
  double floor, ceiling;
  std::size_t scatterers = 0;
  std::array<std::array<double, 4>, kMostScatterers> scatterer = {};  // x, y, z in the site's frame, gain
};

World DrawWorld(const RoomConditions& conditions, const RoomPlan& plan, std::uint64_t seed,
                std::uint64_t index) {
  Draws draws(seed ^ kWorldDraws, index);
  Draws of_room(conditions.room.value_or(0) ^ kWorldDraws, 0);
  Draws& room = conditions.room.has_value() ? of_room : draws;
  const RoomPosition range = UserRange(plan);
  World world;
  world.height_m = draws.Between(conditions.height_m);
  world.noise_deviation = FromDb(-draws.Between(conditions.snr_db));
  world.clock_m = conditions.clock_deviation_ns * kNsToM * draws.Normal();
  for (double& wall : world.walls) wall = room.Between(conditions.reflection);
  world.floor = room.Between(conditions.reflection);
  world.ceiling = room.Between(conditions.reflection);
  if (room.Happens(conditions.scatterers_probability)) {
    world.scatterers = 1 + static_cast<std::size_t>(room.Uniform() * kMostScatterers);
    for (std::size_t i = 0; i < world.scatterers; ++i) {
      world.scatterer[i] = {room.Even(range.x), room.Even(range.y), plan.height_m * room.Uniform(),
                            room.Even(kScattererGain)};
    }
  }
  return world;
}

// How one panel differs from the ideal one when it senses one user.
struct PanelState {
  PanelMounting mounting;
  double sight_gain;
  AntennaGains gains;
};

// A turn by about the angle, without a sine: exactly by 2 · atan(angle / 2).
void Turn(float angle, float& cosine, float& sine) {
  const float half = angle / 2, square = half * half;
  cosine = (1 - square) / (1 + square);
  sine = 2 * half / (1 + square);
}

void DrawAntennas(const RoomConditions& conditions, std::uint64_t seed, std::uint64_t index, Draws& draws,
                  AntennaGains& gains) {
  const auto deviation = static_cast<float>(conditions.gain_deviation_db * draws.Uniform() / kDbPerNeper);
  const auto angle = static_cast<float>(conditions.phase_deviation_deg * kPerDegree * draws.Uniform());
  const double dead =
      conditions.dead_antennas * (conditions.dead_exactly ? 1.0 : std::max(0.0, 2 * draws.Uniform() - 1));
  if (deviation > 0 || angle > 0) {
    std::array<float, 2 * kPanelAntennas> normal;
    FillGaussianNoise(~seed ^ kAntennaDraws, index, normal);
    for (std::size_t antenna = 0; antenna < kPanelAntennas; ++antenna) {
      const float nepers = deviation * normal[antenna];
      const float magnitude = 1 + nepers + nepers * nepers / 2;
      Turn(angle * normal[kPanelAntennas + antenna], gains.real[antenna], gains.imaginary[antenna]);
      gains.real[antenna] *= magnitude;
      gains.imaginary[antenna] *= magnitude;
    }
  }
  for (auto left = static_cast<std::size_t>(std::lround(dead * kPanelAntennas)); left > 0; --left) {
    const auto antenna = static_cast<std::size_t>(draws.Uniform() * kPanelAntennas);
    gains.real[antenna] = gains.imaginary[antenna] = 0;
  }
}

// `antennas`: also draws their gains.
PanelState DrawPanel(const RoomConditions& conditions, std::uint64_t seed, std::uint64_t index, Wall wall,
                     bool antennas) {
  const std::uint64_t of_panel = kPanels * index + static_cast<std::uint64_t>(wall);
  Draws draws(seed ^ kPanelDraws, of_panel);
  Draws of_room(conditions.room.value_or(0) ^ kPanelDraws, static_cast<std::uint64_t>(wall));
  Draws& hardware = conditions.room.has_value() ? of_room : draws;
  PanelState panel;
  const PanelMounting& mounting = conditions.mounting[static_cast<std::size_t>(wall)];
  panel.mounting.shift.x = mounting.shift.x + hardware.Even(conditions.shift_m);
  panel.mounting.shift.y = mounting.shift.y + hardware.Even(conditions.shift_m);
  panel.mounting.turn_deg = mounting.turn_deg + hardware.Even(conditions.turn_deg);
  const bool blocked = conditions.one_panel_blocked ? index % kPanels == static_cast<std::uint64_t>(wall)
                                                    : draws.Happens(conditions.blocked_probability);
  panel.sight_gain = blocked ? FromDb(-draws.Between(conditions.blocked_db)) : 1.0;
  if (antennas && conditions.room.has_value()) {
    DrawAntennas(conditions, *conditions.room, static_cast<std::uint64_t>(wall), hardware, panel.gains);
  } else if (antennas) {
    DrawAntennas(conditions, seed, of_panel, draws, panel.gains);
  }
  return panel;
}

}  // namespace

RoomPosition ToTrueFrame(const PanelMounting& mounting, RoomPosition nominal) {
  constexpr double kCentreY = -kRoomSideM / 2;
  const double turn = mounting.turn_deg * kPerDegree;
  const double cosine = std::cos(turn), sine = std::sin(turn);
  const double x = nominal.x - mounting.shift.x;
  const double y = nominal.y - mounting.shift.y - kCentreY;
  return {cosine * x + sine * y, cosine * y - sine * x + kCentreY};
}

RoomConditions RoomConditions::Drawn() {
  return {.height_m = {0.5, 1.8},
          .snr_db = {0, 30},
          .reflection = {-0.7, 0},
          .clock_deviation_ns = 1,
          .gain_deviation_db = 1,
          .phase_deviation_deg = 10,
          .dead_antennas = 0.15,
          .blocked_probability = 0.1,
          .blocked_db = {6, 20},
          .shift_m = 0.02,
          .turn_deg = 2,
          .scatterers_probability = 0.3};
}

RoomConditions RoomConditions::Working() {
  RoomConditions conditions = Drawn();
  conditions.snr_db.least = 10;
  conditions.gain_deviation_db = conditions.phase_deviation_deg = conditions.dead_antennas = 0;
  conditions.shift_m = conditions.turn_deg = 0;
  return conditions;
}

RoomConditions RoomConditions::OfOneRoom(std::uint64_t room) {
  RoomConditions conditions = Drawn();
  conditions.snr_db.least = 10;
  conditions.dead_antennas = 0;
  conditions.room = room;
  return conditions;
}

RoomPosition RoomExamples::User(std::uint64_t index) const {
  const RoomPosition range = UserRange(plan);
  return {range.x * (2 * UniformAt(seed, 2 * index) - 1), range.y * (2 * UniformAt(seed, 2 * index + 1) - 1)};
}

RoomPosition RoomExamples::Label(std::uint64_t index, Wall wall) const {
  return ToTrueFrame(DrawPanel(conditions, seed, index, wall, false).mounting,
                     ToPanelFrame(plan, wall, User(index)));
}

void RoomExamples::Sense(std::uint64_t index, Wall wall, std::span<float, kChannelFeatures> features) const {
  const World world = DrawWorld(conditions, plan, seed, index);
  const PanelState panel = DrawPanel(conditions, seed, index, wall, true);
  const auto own = static_cast<std::size_t>(wall);
  const auto wall_at = [&](std::size_t turns) { return world.walls[(own + turns) % kPanels]; };

  std::array<RoomPath, kMostPaths> paths;
  const RoomPosition user = ToPanelFrame(plan, wall, User(index));
  // Seen from the south wall, east is to the right, west to the left and north in front; the others in turn.
  std::ranges::copy(
      MirrorPaths(user, world.height_m, {wall_at(1), wall_at(3), wall_at(2), world.floor, world.ceiling},
                  SurroundingsOf(plan, wall)),
      paths.begin());
  paths[0].gain = static_cast<float>(panel.sight_gain);
  std::size_t count = kMirrorPaths;
  for (std::size_t i = 0; i < world.scatterers; ++i) {
    const auto& [x, y, z, gain] = world.scatterer[i];
    const RoomPosition at = ToPanelFrame(plan, wall, {x, y});
    paths[count++] = {static_cast<float>(at.x), static_cast<float>(at.y), static_cast<float>(z),
                      static_cast<float>(gain),
                      static_cast<float>(std::hypot(at.x - user.x, at.y - user.y, z - world.height_m))};
  }
  const PanelMounting& hung = panel.mounting;
  if (hung.turn_deg != 0 || hung.shift.x != 0 || hung.shift.y != 0) {
    for (RoomPath& path : std::span(paths).first(count)) {
      const RoomPosition seen = ToTrueFrame(hung, {path.x, path.y});
      path.x = static_cast<float>(seen.x);
      path.y = static_cast<float>(seen.y);
    }
  }
  ComputeChannel(std::span(paths).first(count), world.clock_m, panel.gains, features,
                 PanelArray(plan.carrier_hz, plan.panels[own].height_m));

  const auto deviation_per_part = static_cast<float>(world.noise_deviation / std::numbers::sqrt2);
  std::array<float, kChannelFeatures> noise;
  FillGaussianNoise(~seed, kPanels * index + own, noise);
  for (std::size_t i = 0; i < kChannelFeatures; ++i) features[i] += deviation_per_part * noise[i];
}

}  // namespace tributary::scene
