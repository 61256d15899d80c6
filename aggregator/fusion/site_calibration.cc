#include "aggregator/fusion/site_calibration.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/status/faults.h"
#include "core/status/macros.h"

namespace tributary::fusion {
namespace {

// The leaf of a source that is one; nothing for a fusion of several.
std::optional<std::size_t> OnlyLeaf(const SlotInput& input) {
  if (input.leaves.count() != 1) return std::nullopt;
  std::size_t leaf = 0;
  while (!input.leaves[leaf]) ++leaf;
  return leaf;
}

estimate::Gaussian<2> TupleOf(const estimate::TuplePlanes& planes, std::size_t row) {
  const float mean[] = {planes.mean_x()[row], planes.mean_y()[row]};
  const float factor[] = {planes.l11()[row], planes.l21()[row], planes.l22()[row]};
  return estimate::Gaussian<2>::FromTuple(mean, factor);
}

}  // namespace

SiteCalibration::SiteCalibration(const SiteConfig& site)
    : site_(site), look_every_(std::max<estimate::Epoch>(site.slot.SlotsIn(kLookNs), 1)) {
  Configure(site.tuning.calibration);
}

void SiteCalibration::Configure(const CalibrationTuning& tuning) {
  const bool same = sources_ && tuning.places == tuning_.places && tuning.shift_m == tuning_.shift_m &&
                    tuning.turn_deg == tuning_.turn_deg;
  tuning_ = tuning;
  if (tuning.mode == CalibrationMode::kOff) sources_.reset();
  if (tuning.mode == CalibrationMode::kOff || same) return;
  std::vector<estimate::Vector<2>> places(site_.leaves.size(), estimate::Vector<2>::Zero());
  for (std::size_t leaf = 0; leaf < std::min(places.size(), tuning.places.size()); ++leaf) {
    places[leaf] = {tuning.places[leaf][0], tuning.places[leaf][1]};
  }
  sources_.emplace(estimate::MountingPrior{.shift_m = tuning.shift_m, .turn_deg = tuning.turn_deg}, places);
  looked_ = false;
  looks_ = 0;
}

void SiteCalibration::Correct(std::size_t leaf, estimate::TuplePlanes& tuples) const {
  if (tuning_.mode != CalibrationMode::kCorrect || leaf >= sources_->size()) return;
  sources_->state(leaf).correction.Apply(tuples);
}

void SiteCalibration::Widen(std::span<float> cholesky) const {
  if (tuning_.mode != CalibrationMode::kCorrect) return;
  estimate::WidenFactors(static_cast<float>(sources_->CommonVariance()), cholesky);
}

void SiteCalibration::Look(estimate::Epoch epoch, std::span<const SlotInput> inputs, const SlotRows& rows) {
  if (!sources_ || inputs.size() < 2) return;
  const bool forward = looked_ && epoch >= last_look_;
  // Late slots of a moment ago are no step of the clock.
  if (looked_ && !forward && last_look_ - epoch < 100 * look_every_) return;
  if (forward && epoch - last_look_ < look_every_) return;
  const double passed_s =
      forward ? static_cast<double>(epoch - last_look_) * site_.slot.seconds() : 1e-9 * kLookNs;
  looked_ = true;
  last_look_ = epoch;
  sources_->Forget(std::exp(-std::min(passed_s / tuning_.window_s, 1.0)));
  const std::size_t count = std::min(rows.size(), kMostSubjects);
  for (std::size_t i = 0; i < count; ++i) ObserveRow(inputs, rows, (next_row_ + i) % rows.size());
  if (rows.size() > 0) next_row_ = (next_row_ + count) % rows.size();
  if (++looks_ < kLooksPerSolution) return;
  looks_ = 0;
  sources_->Solve();
}

void SiteCalibration::ObserveRow(std::span<const SlotInput> inputs, const SlotRows& rows, std::size_t row) {
  tuples_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t k = rows.Of(i, row);
    const std::optional<std::size_t> leaf = OnlyLeaf(inputs[i]);
    if (k == SlotRows::kMissing || !leaf || *leaf >= sources_->size()) continue;
    // Two sources of one leaf: not independent.
    if (std::ranges::find(tuples_, *leaf, &estimate::SourceCalibration::Observation::source) != tuples_.end())
      return;
    estimate::Gaussian<2> tuple = TupleOf(inputs[i].planes, k);
    if (tuning_.mode != CalibrationMode::kCorrect) tuple = sources_->state(*leaf).correction.Apply(tuple);
    tuples_.push_back({*leaf, tuple});
  }
  sources_->Observe(tuples_);
}

std::optional<LeafCalibration> SiteCalibration::Of(std::size_t leaf) const {
  if (!sources_ || leaf >= sources_->size()) return std::nullopt;
  const estimate::CalibrationState& state = sources_->state(leaf);
  constexpr double kDegrees = 180 / std::numbers::pi;
  return LeafCalibration{.corrected = tuning_.mode == CalibrationMode::kCorrect,
                         .scale = state.correction.scale,
                         .shift_m = {state.correction.shift[0], state.correction.shift[1]},
                         .shift_deviation_m = {state.shift_deviation[0], state.shift_deviation[1]},
                         .turn_deg = kDegrees * state.correction.turn,
                         .turn_deviation_deg = kDegrees * state.turn_deviation,
                         .observations = state.observations};
}

std::vector<std::string> SiteCalibration::SourceNames() const {
  return {site_.leaves.begin(), site_.leaves.begin() + static_cast<std::ptrdiff_t>(sources_->size())};
}

std::optional<CalibrationRecord> SiteCalibration::Record() const {
  if (!sources_ || !looked_) return std::nullopt;
  return CalibrationRecord{.site = site_.name,
                           .sources = SourceNames(),
                           .prior = {.shift_m = tuning_.shift_m, .turn_deg = tuning_.turn_deg},
                           .looked_unix_ns = site_.slot.StartNs(last_look_),
                           .looks = looks_,
                           .next_row = next_row_,
                           .learnt = sources_->learnt()};
}

absl::Status SiteCalibration::Restore(const CalibrationRecord& record) {
  if (!sources_) return absl::FailedPreconditionError("the site does not calibrate");
  Faults other;
  const auto compare = [&](std::string_view key, const auto& found, const auto& wanted) {
    other.Check(found == wanted, key, absl::StrCat("is ", found, ", but the site has ", wanted));
  };
  compare("site", record.site, site_.name);
  compare("sources", absl::StrJoin(record.sources, ", "), absl::StrJoin(SourceNames(), ", "));
  compare("shift_m", record.prior.shift_m, tuning_.shift_m);
  compare("turn_deg", record.prior.turn_deg, tuning_.turn_deg);
  if (const absl::Status status = other.Result(); !status.ok()) {
    return absl::FailedPreconditionError(status.message());
  }
  RETURN_IF_ERROR(sources_->Restore(record.learnt));
  looked_ = true;
  last_look_ = site_.slot.EpochAt(record.looked_unix_ns);
  looks_ = record.looks;
  next_row_ = record.next_row;
  return absl::OkStatus();
}

}  // namespace tributary::fusion
