// What the methods that fit the network to a room come to on the same points.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "cli/adapt/labelled_points.h"
#include "cli/adapt/room_adaptation.h"
#include "cli/evaluate/position_errors.h"

namespace tributary::cli {

// The points that methods may use, and those that they never see.
struct MeasuredPoints {
  LabelledPoints labelled, judged;
};

// The rows of the table, in their order.
struct Compared {
  ErrorFigures unadapted, from_nothing, points_alone, plan_alone, adapted, adapted_int8_16;
};

struct ComparedMethod {
  const char* key;
  const char* text;
  ErrorFigures Compared::*figures;
};

inline constexpr std::array<ComparedMethod, 6> kComparedMethods = {{
    {"unadapted", "unadapted", &Compared::unadapted},
    {"from_nothing", "trained from nothing on the points", &Compared::from_nothing},
    {"points_alone", "base model, trained on the points", &Compared::points_alone},
    {"plan_alone", "base model, trained on the plan", &Compared::plan_alone},
    {"adapted", "adapted: plan, then points", &Compared::adapted},
    {"adapted_int8_16", "adapted, in int8_16", &Compared::adapted_int8_16},
}};

// All but the plan's training, which serves every set of points of one room: `planned` comes from it. Gives
// the adapted model, too. Errors: those of Judge and of the methods.
absl::StatusOr<std::pair<RoomModel, Compared>> CompareMethods(
    const nn::PositioningNetwork& base, const nn::PositioningNetwork& planned, const scene::RoomPlan& plan,
    const MeasuredPoints& measured, const AdaptationOptions& options, const AdaptationProgress& progress);

std::string TextInCm(double m);
void PrintCompared(const Compared& compared);
nlohmann::ordered_json ToJson(const Compared& compared);

}  // namespace tributary::cli
