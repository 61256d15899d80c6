// Trains a panel's beacon network with labelled ranges while the panel goes on.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "core/nn/beacon/beacon_network.h"
#include "core/nn/beacon/continual_beacon.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"
#include "node/retraining/beacon_in_force.h"
#include "node/retraining/retraining_config.h"
#include "node/retraining/samples_file.h"

namespace tributary::retraining {

struct RetrainingCounters {
  std::uint64_t samples = 0;          // that it has judged
  std::uint64_t refused_samples = 0;  // lines of the file that are none, and values that are none of a hall
  std::uint64_t drifts = 0;
  std::uint64_t trainings = 0;         // that gave a better network
  std::uint64_t kept_trainings = 0;    // that gave none
  std::uint64_t failed_trainings = 0;  // that could not be done
  std::uint64_t unsaved_networks = 0;  // that could not be written to the state file
  std::uint64_t unreadable_polls = 0;  // times that the samples file could not be read
};

inline constexpr runtime::CountMetric<RetrainingCounters> kRetrainingMetrics[] = {
    {"tributary_retraining_samples_total", "Labelled ranges by which the network was judged.",
     &RetrainingCounters::samples},
    {"tributary_retraining_refused_samples_total",
     "Lines that are no labelled ranges, and ranges or positions that no hall has.",
     &RetrainingCounters::refused_samples},
    {"tributary_retraining_drifts_total", "Times that the network was found to have drifted.",
     &RetrainingCounters::drifts},
    {"tributary_retraining_trainings_total", "Trainings that gave a better network.",
     &RetrainingCounters::trainings},
    {"tributary_retraining_kept_total", "Trainings after which the old network stayed: it was no worse.",
     &RetrainingCounters::kept_trainings},
    {"tributary_retraining_failed_total", "Trainings that could not be done.",
     &RetrainingCounters::failed_trainings},
    {"tributary_retraining_unsaved_networks_total",
     "Networks that could not be written to the state file: a restart has an older one.",
     &RetrainingCounters::unsaved_networks},
    {"tributary_retraining_unreadable_polls_total", "Times that the samples file could not be read.",
     &RetrainingCounters::unreadable_polls}};

struct RetrainingStatus {
  RetrainingCounters counters;
  bool drifted = false;
  double deviation_scale = 1;
  std::size_t kept_samples = 0;     // to train on
  std::size_t waiting_samples = 0;  // not judged yet
  double error_m = 0;               // of the last training's network on held-out samples, per coordinate
};

// Owns its thread, of background rank.
class BeaconRetrainer {
 public:
  static constexpr std::size_t kMostWaiting = 4096;

  // `in_force`: what the panel has, as its accelerator can hold it. `model`: what that was trained from. The
  // retrainer outlives the metrics' last reader. `weight_step`: of the accelerator; 0: float.
  BeaconRetrainer(std::string panel, RetrainingConfig config, nn::BeaconNetwork model,
                  std::shared_ptr<BeaconInForce> in_force, double weight_step, runtime::Metrics& metrics);

  void Start();
  // Returns once the thread has ended; a training under way is given up.
  void Stop();

  // Any thread may call. ResourceExhausted: too many wait, and none of these was taken.
  absl::Status Offer(std::span<const nn::BeaconExample> samples);
  RetrainingStatus status() const;
  // Why it cannot do what it is asked to; empty: nothing is known.
  std::string problem() const;

 private:
  void Run(const std::stop_token& stop);
  void PollFile(const std::stop_token& stop);
  void Take(const nn::BeaconExample& sample, const std::stop_token& stop);
  void Train(const std::stop_token& stop);
  void Publish();

  const std::string panel_;
  const RetrainingConfig config_;
  const nn::BeaconNetwork model_;
  const std::shared_ptr<BeaconInForce> in_force_;
  nn::ContinualBeacon beacon_;  // the thread's
  std::optional<SamplesFile> file_;

  mutable runtime::Mutex mutex_;
  std::condition_variable_any news_;
  std::deque<nn::BeaconExample> waiting_ GUARDED_BY(mutex_);
  RetrainingStatus status_ GUARDED_BY(mutex_);
  std::string file_problem_ GUARDED_BY(mutex_);
  std::string state_problem_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary::retraining
