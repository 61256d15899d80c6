// Tracks of a site's subjects.
#pragma once

#include <memory>

#include "aggregator/fusion/site_config.h"
#include "core/estimate/gaussian.h"
#include "core/estimate/motion_track.h"
#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// One subject's motion by epochs: when to go on, when to start anew, what to leave out.
template <int D>
class SubjectTrack {
 public:
  explicit SubjectTrack(estimate::SlotLength slot);

  // Predicts to `epoch` and corrects with the measured position. Starts the track anew, at rest, at the first
  // measurement, after more than the longest gap, or if the filter exceeds what can move. Leaves out a
  // measurement that is not newer than the last one (late slots and revisions), unless the epochs have
  // stepped back by more than the longest step: a clock was set, or a recording starts again. False if it was
  // left out.
  bool Update(estimate::Epoch epoch, const estimate::Gaussian<D>& measured);

  estimate::Epoch epoch() const { return epoch_; }
  estimate::Vector<D> position() const { return track_.Position().mean; }
  estimate::Vector<D> velocity() const { return track_.Velocity(); }

 private:
  // The limit of a subject's speed, m/s: a higher one comes from measurements that contradict each other.
  static constexpr double kFastest = 1e6;

  void Start(estimate::Epoch epoch, const estimate::Gaussian<D>& measured);

  // In a site of long slots a gap is some slots long, whatever their length.
  double slot_s_;
  estimate::Epoch longest_gap_;        // slots: 1 s, at least 4
  estimate::Epoch longest_step_back_;  // slots: 10 s, at least 40
  bool started_ = false;
  estimate::Epoch epoch_ = 0;
  estimate::MotionTrack<D> track_{estimate::MotionModel{}};
};

// The tracks of a site: at most four times its max_subjects; a new subject replaces the one last seen longest
// ago. Not thread-safe.
class SubjectTracks {
 public:
  static std::unique_ptr<SubjectTracks> Create(const SiteConfig& site);
  virtual ~SubjectTracks() = default;

  // Fills slot.velocities (0 for a track that has just started).
  virtual void Update(estimate::FusedSlot& slot) = 0;
};

}  // namespace tributary::fusion
