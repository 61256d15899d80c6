// Constant-velocity tracks of a site's subjects.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "aggregator/fusion/site_config.h"
#include "core/estimate/epoch.h"
#include "core/estimate/fused_slot.h"
#include "core/estimate/gaussian.h"
#include "core/estimate/slot_length.h"

namespace tributary::fusion {

// What epochs mean to a track. In a site of long slots a gap is some slots, however long they are.
struct TrackTiming {
  explicit TrackTiming(estimate::SlotLength slot);

  double slot_s;
  estimate::Epoch longest_gap;        // slots: 1 s, at least 4
  estimate::Epoch longest_step_back;  // slots: 10 s, at least 40
};

// A Kalman filter over position and velocity, driven by white acceleration of the given spectral density.
template <int D>
class SubjectTrack {
 public:
  using State = Eigen::Matrix<double, 2 * D, 1>;
  using Covariance = Eigen::Matrix<double, 2 * D, 2 * D>;

  explicit SubjectTrack(const TrackTiming& timing) : timing_(timing) {}

  // Predicts to `epoch` and corrects with the measured position. A first measurement, one after more than the
  // longest gap, or one that leaves the filter beyond what can move starts the track anew, at rest; one that
  // is not newer than the last is left out (late slots and revisions), unless the epochs have stepped back by
  // more than the longest step (a clock was set, a recording starts again). False if it was left out.
  bool Update(estimate::Epoch epoch, const estimate::Gaussian<D>& measured, double acceleration_density);

  estimate::Epoch epoch() const { return epoch_; }
  estimate::Vector<D> position() const { return state_.template head<D>(); }
  estimate::Vector<D> velocity() const { return state_.template tail<D>(); }
  estimate::Matrix<D> position_covariance() const { return covariance_.template topLeftCorner<D, D>(); }

 private:
  // No subject is faster, m/s: what is, came from measurements that contradict each other.
  static constexpr double kFastest = 1e6;
  // Of the velocity before anything is known, m/s: twice a runner's.
  static constexpr double kVelocityDeviation = 20.0;

  void Start(estimate::Epoch epoch, const estimate::Gaussian<D>& measured);
  void Predict(double seconds, double acceleration_density);
  void Correct(const estimate::Gaussian<D>& measured);

  TrackTiming timing_;
  bool started_ = false;
  estimate::Epoch epoch_ = 0;
  State state_ = State::Zero();
  Covariance covariance_ = Covariance::Identity();
};

// At most `capacity` tracks; a new subject takes the place of the one that was seen longest ago. Not
// thread-safe.
class SubjectTracks {
 public:
  virtual ~SubjectTracks() = default;

  // Fills slot.velocities (0 for a track that has just started), and replaces the positions if the
  // configuration says so.
  virtual void Update(const TrackConfig& config, estimate::FusedSlot& slot) = 0;
};

template <int D>
class SubjectTracksOf : public SubjectTracks {
 public:
  SubjectTracksOf(estimate::SlotLength slot, std::size_t capacity) : timing_(slot), capacity_(capacity) {}

  void Update(const TrackConfig& config, estimate::FusedSlot& slot) override;

 private:
  SubjectTrack<D>& Find(std::uint32_t subject);

  const TrackTiming timing_;
  const std::size_t capacity_;
  std::unordered_map<std::uint32_t, SubjectTrack<D>> tracks_;
};

}  // namespace tributary::fusion
