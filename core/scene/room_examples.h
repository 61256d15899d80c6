// Labelled examples of the simulated room, where every user may meet another world. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/scene/room.h"
#include "core/scene/room_channel.h"
#include "core/scene/room_plan.h"

namespace tributary::scene {

// Least and greatest value of a uniform draw.
struct Range {
  double least;
  double most;
};

// Where a panel hangs, other than the plan says: in its nominal frame, about its own centre.
struct PanelMounting {
  RoomPosition shift = {0, 0};  // m
  double turn_deg = 0;          // counter-clockwise
};

// From the panel's nominal frame to that in which it really hangs: shifted, then turned about its centre.
RoomPosition ToTrueFrame(const PanelMounting& mounting, RoomPosition nominal);

// How the worlds of users are drawn. The defaults are the ideal room: every user meets the same world.
struct RoomConditions {
  Range height_m = {kUserHeightM, kUserHeightM};  // of the user's antenna
  Range snr_db = {20, 20};                        // of the line of sight at 5 m, per antenna and subcarrier
  Range reflection = {kReflection, kReflection};  // of each wall, floor and ceiling
  double clock_deviation_ns = 0;                  // of the user's clock, which all panels see
  double gain_deviation_db = 0;                   // of each antenna, greatest of a panel: drawn evenly from 0
  double phase_deviation_deg = 0;                 // of each antenna, greatest of a panel: drawn evenly from 0
  double dead_antennas = 0;        // greatest part of a panel's antennas; half of the panels have none
  bool dead_exactly = false;       // as many in every panel
  double blocked_probability = 0;  // that a panel's line of sight is blocked
  Range blocked_db = {0, 0};       // what that takes from its amplitude
  bool one_panel_blocked = false;  // one of the four panels instead, in turn
  double shift_m = 0;              // greatest displacement of a panel in x and in y
  double turn_deg = 0;             // greatest turn of a panel about its own centre
  std::array<PanelMounting, 4> mounting = {};  // of each wall's panel, for all users; adds to the drawn one
  double scatterers_probability = 0;           // that there are objects in the room, one to three
  // Surfaces, objects, antennas and mountings are those of one room, drawn from this, and the same for all
  // users; height, SNR, clock and what blocks a line of sight stay each user's own.
  std::optional<std::uint64_t> room = std::nullopt;

  // The world in which the robust model is trained.
  static RoomConditions Drawn();
  // Those of an installation that works: 10 dB and more, all antennas in order, panels as planned.
  static RoomConditions Working();
  // Those of one room, drawn as for the training, in which users walk about: 10 dB and more, no antenna is
  // dead.
  static RoomConditions OfOneRoom(std::uint64_t room);
};

// Users are spread uniformly over the room (kWallMarginM from the walls). The same (seed, index) is the same
// user in the same world for every wall, with independent noise. Different seeds give independent sets.
struct RoomExamples {
  std::uint64_t seed;
  RoomConditions conditions = {};
  RoomPlan plan = {};

  // In the site's frame.
  RoomPosition User(std::uint64_t index) const;

  // Where that user is in the true frame of the panel on `wall`, which differs from the nominal one
  // (ToPanelFrame) if panels are shifted or turned.
  RoomPosition Label(std::uint64_t index, Wall wall) const;

  // Raw, noisy features (phase not aligned) of that user at that panel.
  void Sense(std::uint64_t index, Wall wall, std::span<float, kChannelFeatures> features) const;
};

}  // namespace tributary::scene
