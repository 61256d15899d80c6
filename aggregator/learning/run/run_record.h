// What others may see of a run, and the lines of its history.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tributary/v1/run.pb.h"

namespace tributary::learning {

struct RunParts;

// A copy, made by the thread that owns the run.
struct RunRecord {
  v1::Run run;                                // without its configuration
  std::shared_ptr<const std::string> config;  // as it was given
  std::uint32_t model_round = 0;              // after which it has its present model
  std::optional<std::uint32_t> to_judge;  // the round whose model is to be judged on the operator's images
  std::uint64_t history_changes = 0;      // lines written or amended since the aggregator was started
  std::uint64_t failed_rounds = 0;        // since then
  std::shared_ptr<const v1::Round> last_committed;  // null: none
  std::shared_ptr<const v1::Round> last_evaluated;  // null: none
  std::shared_ptr<const v1::Clusters> clusters;     // null: not looked for yet

  bool ended() const { return run.state() >= v1::RUN_STATE_FINISHED; }
};

RunRecord RecordOf(const RunParts& run);

// Adds to a line of the history what the round's updates and the run's account say.
void AddAccount(const RunParts& run, v1::Round& line);

// The line tells of a round whose result is the run's model; it is no failure and no return to an earlier
// model.
inline bool IsCommitted(const v1::Round& line) { return !line.rolled_back() && line.failure().empty(); }

}  // namespace tributary::learning
