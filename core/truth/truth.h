// Where the subjects really are, or of which class, for judging what was fused: by the seed of a simulation,
// or from motion capture.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/estimate/slot_length.h"
#include "core/radio/burst.h"

namespace tributary::truth {

// x, y in the site's frame, m.
using PlanePosition = std::array<double, 2>;

// A position, the name of a class (of static storage), or nothing where neither is known.
using TrueState = std::variant<std::monostate, PlanePosition, std::string_view>;

// The state of a subject in a slot; `slot`: what the site's epochs count. Empty: no truth is known. Any
// thread may call.
using Truth =
    std::function<TrueState(std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot)>;

// Whether the truth is a simulation's, by the way in which it is described, and not a file's.
bool IsSimulation(absl::string_view description);

// "room:seed=1" (also ",snapshots=N"): the walk of the simulated room's users. "generator:seed=1,rate_hz=50"
// (and the other keys of an emitter source): the modulations of the simulated emitters; with "count=N",
// subjects N + 1, N + 2, … are the emitters 1, 2, … again. Errors: InvalidArgument for a key or number that
// is not known.
absl::StatusOr<Truth> Simulation(absl::string_view description);

// What a receiver hears of a subject in a slot of a simulation.
struct SimulatedBurst {
  std::string_view modulation;  // of static storage
  double snr_db = 0;
  std::array<float, radio::kBurstFeatures> samples = {};  // as radio::BurstView; mean power 1
};

// Nothing where no such burst is sent. Any thread may call; some 30 µs of a processor.
using Bursts = std::function<std::optional<SimulatedBurst>(
    std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot, std::uint32_t receiver)>;

// The bursts of "generator:…" as Simulation takes it, with the keys lowest_snr_db, highest_snr_db,
// domain=foreign and snr=label of an emitter source where it has them. They are made here, from the seed: no
// node sends samples. Empty for a room. Errors: as Simulation.
absl::StatusOr<Bursts> SimulatedBursts(absl::string_view description);

// As Simulation, or a CSV file of motion capture, whose tags are the subjects: "FILE", or
// "FILE,survey=SURVEY" for another hall than that of the example recordings. Errors also as ReadFile,
// ReadSurvey and MotionCapture::Parse.
absl::StatusOr<Truth> OpenTruth(const std::string& description);

}  // namespace tributary::truth
