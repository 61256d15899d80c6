// A beacon network that goes on learning where it is used. Labelled ranges tell how consistent it is; once it
// has drifted, it is trained further on what came since. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/beacon/beacon_retraining.h"
#include "core/nn/beacon/beacon_trainer.h"

namespace tributary::nn {

// Consistency is the squared error in units of the network's covariance, divided by its expectation 2.
//
// Neighbouring samples err alike, so that a drift is found by passages of a second: the cumulative sum of
// their means ([PAGE54]). From the beginning of that sum on samples are kept, and the network is trained
// again and again as they become more, until kMostPassages have come. Its first weights and their uncertainty
// count as some passages. What the network has learned then is the network that may drift next.
//
// Meanwhile the covariance grows at once with the errors of the last labels, and shrinks with them.
//
// One thread's. Memory: at most kMostSamples.
class ContinualBeacon {
 public:
  static constexpr std::int64_t kPassageNs = 1'000'000'000;
  static constexpr std::size_t kPassageSamples = 40;  // kept; further ones of a passage are judged only
  static constexpr std::size_t kMostPassages = 200;
  static constexpr std::size_t kMostSamples = kPassageSamples * kMostPassages;

  // `weight_step`: of the accelerator's weights, whose words hold inputs within ±1; 0: float.
  ContinualBeacon(BeaconNetwork network, double weight_step);

  struct Verdict {
    double consistency = 1;
    bool drift_began = false;
    bool training_due = false;  // call Train
  };
  // Samples ascend in time; an older one is taken as simultaneous with the last. Errors: InvalidArgument for
  // a value that is not finite or is no range or position of a hall (0 to kMostRangeM; ±kMostCoordinateM).
  absl::StatusOr<Verdict> Take(const BeaconExample& sample);

  // Trains on what was kept, without labels that are wrong by far; takes the new network if it is better on
  // samples that were held out. Errors: those of RetrainBeacon; the network stays, and the next training is
  // due later.
  absl::StatusOr<BeaconRetraining> Train(const std::function<bool()>& withdrawn);

  // As it was trained last.
  const BeaconNetwork& network() const { return network_; }
  // What multiplies its deviations, at least 1.
  double deviation_scale() const;
  bool drifted() const { return drifted_; }
  std::size_t kept_samples() const { return kept_.size(); }

  static constexpr double kMostRangeM = 1e4;
  static constexpr double kMostCoordinateM = 1e6;

 private:
  void EndPassage();
  void Keep(const BeaconExample& sample);
  void Settle();
  // Those kept, without labels that must be wrong.
  std::vector<BeaconPattern> Usable() const;

  const double weight_step_;
  BeaconNetwork origin_;  // what drifted
  BeaconNetwork network_;
  std::vector<BeaconPattern> kept_;
  std::size_t kept_passages_ = 0;  // complete ones
  std::size_t next_training_;      // after so many

  struct Passage {
    std::int64_t begin_ns;
    std::size_t samples = 0;
    double consistency_sum = 0;
  };
  std::optional<Passage> passage_;
  double cumulative_ = 0;
  bool drifted_ = false;
  double lately_ = 1;  // consistency of the last few samples
  // Since the change, or the last network.
  double sum_ = 0;
  std::size_t count_ = 0;
};

}  // namespace tributary::nn
