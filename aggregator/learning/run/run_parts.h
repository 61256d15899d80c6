// What a run consists of: the rules, the model, the round's sum, its place in the store, its account.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "aggregator/learning/round/run_rules.h"
#include "aggregator/learning/rules/node_clusters.h"
#include "aggregator/learning/run/journal.h"
#include "aggregator/learning/run/round_sum.h"
#include "aggregator/learning/run/run_model.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// What a run knows beside the rules and the store.
struct RunAccount {
  std::int64_t started_unix_ns = 0;
  // Since the run began, with the round under way.
  std::uint64_t accepted = 0, refused = 0, declined = 0;
  double epsilon = 0;
  std::int64_t round_started_unix_ns = 0;
  std::uint64_t round_refused = 0;      // in the round under way
  std::uint64_t failed_rounds = 0;      // since the aggregator was started
  std::string failure;                  // why the run cannot go on: its model has diverged
  std::uint32_t unjudgeable_round = 0;  // 0: none
  bool changed = true;
};

// One thread at a time. Shared by the classes that act on one run: Run, RoundCourse, RelayedRun.
//
// Memory: the model and the sum, one float and one word per parameter, beside what the strategy remembers;
// the robust strategies hold every update of a round while they combine them.
struct RunParts {
  RunParts(const RunSurroundings& surroundings, std::string_view config, RunRules rules, RunModel model);

  const std::string& name() const { return state.config.name; }
  bool relayed() const { return state.config.relayed; }
  std::int64_t now_ns() const { return surroundings.clock.SteadyNs(); }  // steady

  // What the store keeps of it beside models and updates.
  v1::StoredRun Stored() const;
  // Makes `status` the run's health unless it is fine.
  bool Healthy(const absl::Status& status);
  void CountRefusal();
  // Gives the memory of the model and the sum back once the run has ended. Its models stay in the store, from
  // where they are read and rolled back.
  void ReleaseIfEnded();

  const RunSurroundings surroundings;
  const std::shared_ptr<const std::string> config_text;
  RunRules rules;
  const RunState& state;  // of the rules
  RunModel model;
  std::optional<NodeClusters> node_clusters;     // if the run looks for some
  std::shared_ptr<const v1::Clusters> clusters;  // as they were found last; null: not looked for yet
  RoundSum sum;
  Journal journal;
  RunAccount account;
  absl::Status health;  // an error: why the run has failed
};

}  // namespace tributary::learning
