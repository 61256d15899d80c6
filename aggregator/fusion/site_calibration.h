// The calibration of a site's leaf sources: looks at some slots, corrects all tuples.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/fusion/calibration_record.h"
#include "aggregator/fusion/outcomes.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/fusion/slot_ring.h"
#include "aggregator/fusion/slot_rows.h"
#include "core/estimate/source_calibration.h"
#include "core/estimate/tuple_planes.h"

namespace tributary::fusion {

// For sites of two dimensions. The first SourceCalibration::kMostSources leaves are calibrated, in sources
// that are one leaf each; all other tuples stay as they are. Not thread-safe.
//
// Neighbouring slots see the same user with the same error, so one slot in a tenth of a second is looked at,
// and in it kMostSubjects subjects at most: the cost does not grow with the rate. Once a second what was seen
// becomes the correction of the tuples that come then.
//
// Between two looks it forgets by the time that has passed, but by one window_s at most. A gap tells nothing
// of the sources: after an outage the corrections still hold, and what is seen from then on soon outweighs
// them.
class SiteCalibration {
 public:
  static constexpr std::int64_t kLookNs = 100'000'000;
  static constexpr int kLooksPerSolution = 10;
  static constexpr std::size_t kMostSubjects = 32;

  explicit SiteCalibration(const SiteConfig& site);

  // A changed place, prior or a mode that was off begins anew.
  void Configure(const CalibrationTuning& tuning);

  // Corrects tuples of one leaf, if the site does.
  void Correct(std::size_t leaf, estimate::TuplePlanes& tuples) const;

  // Adds to fused tuples [n × 3: l11, l21, l22] what all sources may have in common, if the site corrects.
  void Widen(std::span<float> cholesky) const;

  // Call for every slot that is fused; `rows` are those of the inputs.
  void Look(estimate::Epoch epoch, std::span<const SlotInput> inputs, const SlotRows& rows);

  // Nothing if the leaf is not calibrated.
  std::optional<LeafCalibration> Of(std::size_t leaf) const;

  // All that it has learnt; nothing if it is off or has not looked yet.
  std::optional<CalibrationRecord> Record() const;
  // Goes on from a record. Errors leave it as it was: FailedPrecondition, the record is of another site,
  // other sources or another prior, or this one is off; InvalidArgument, it is of other places, or nobody
  // learns that.
  absl::Status Restore(const CalibrationRecord& record);

 private:
  std::vector<std::string> SourceNames() const;
  void ObserveRow(std::span<const SlotInput> inputs, const SlotRows& rows, std::size_t row);

  const SiteConfig& site_;
  const estimate::Epoch look_every_;  // slots
  CalibrationTuning tuning_;
  std::optional<estimate::SourceCalibration> sources_;  // unless it is off
  bool looked_ = false;
  estimate::Epoch last_look_ = 0;
  int looks_ = 0;             // since the last solution
  std::size_t next_row_ = 0;  // of sites with more subjects than a look takes
  std::vector<estimate::SourceCalibration::Observation> tuples_;  // of one subject
};

}  // namespace tributary::fusion
