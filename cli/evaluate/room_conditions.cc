#include "cli/evaluate/room_conditions.h"

#include <array>

namespace tributary::cli {

std::span<const NamedConditions> JudgedConditions() {
  static const std::array conditions = std::to_array<NamedConditions>({
      {"ideal", "ideal room", {}},
      {"height_1.05m", "user's antenna at 1.05 m", {.height_m = {1.05, 1.05}}},
      {"height_1.2m", "user's antenna at 1.2 m", {.height_m = {1.2, 1.2}}},
      {"snr_10db", "SNR 10 dB", {.snr_db = {10, 10}}},
      {"reflection_0.5", "surfaces reflect 0.5", {.reflection = {-0.5, -0.5}}},
      {"reflection_0", "surfaces do not reflect", {.reflection = {0, 0}}},
      {"clock_1ns", "users' clocks 1 ns off (standard deviation)", {.clock_deviation_ns = 1}},
      {"blocked_12db",
       "line of sight to one panel weaker by 12 dB",
       {.blocked_db = {12, 12}, .one_panel_blocked = true}},
      {"dead_antennas_10%", "one antenna in ten is dead", {.dead_antennas = 0.1, .dead_exactly = true}},
      {"scatterers", "one to three objects that scatter", {.scatterers_probability = 1}},
      {"gains",
       "antennas' gains off by up to 1 dB and 10 degrees",
       {.gain_deviation_db = 1, .phase_deviation_deg = 10}},
      {"turned_2deg",
       "every panel turned by 2 degrees",
       {.mounting = {{{.turn_deg = 2}, {.turn_deg = 2}, {.turn_deg = 2}, {.turn_deg = 2}}}}},
      {"turned_apart",
       "panels turned by 2, -1, 0 and 1 degrees",
       {.mounting = {{{.turn_deg = 2}, {.turn_deg = -1}, {}, {.turn_deg = 1}}}}},
      {"moved_2cm",
       "every panel moved by 2 cm, three along the wall, one from it",
       {.mounting =
            {{{.shift = {0.02, 0}}, {.shift = {0.02, 0}}, {.shift = {0, 0.02}}, {.shift = {-0.02, 0}}}}}},
      {"working", "drawn worlds of an installation that works", scene::RoomConditions::Working()},
      {"drawn", "worlds as drawn in training", scene::RoomConditions::Drawn()},
  });
  return conditions;
}

}  // namespace tributary::cli
