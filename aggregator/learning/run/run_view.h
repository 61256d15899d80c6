// What others may see of the runs: copies, made by the thread that owns them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/run/run_document.h"
#include "aggregator/store/records.h"

namespace tributary {

// RunPhase, and a run that cannot go on.
enum class RunCondition : std::uint8_t { kWaiting, kRunning, kPaused, kFinished, kStopped, kFailed };

// "waiting", "running" …
std::string_view RunConditionName(RunCondition condition);

// Since the run began, of rounds that failed as well.
struct RunTotals {
  std::uint64_t accepted_updates = 0;
  std::uint64_t refused_updates = 0;
  std::uint64_t declined_tasks = 0;
};

struct RunView {
  std::string name;
  RunCondition condition = RunCondition::kWaiting;
  std::string message;  // what it waits for, why it failed
  std::string strategy;
  std::string config;  // as it was given
  std::uint32_t rounds = 0;
  std::uint32_t committed = 0;
  std::uint32_t round = 0;            // under way; 0: none
  std::int64_t deadline_unix_ns = 0;  // of it; 0: none
  std::uint32_t asked = 0;            // in it
  std::uint32_t accepted = 0;         // in it
  std::uint32_t refused = 0;          // in it
  RunTotals totals;
  std::uint32_t quorum = 0;
  std::uint64_t element_count = 0;
  std::string model_sha256;  // 32 bytes
  std::int64_t started_unix_ns = 0;
  double epsilon = 0;  // 0: not differentially private
  double delta = 0;
  std::uint32_t model_round = 0;                          // after which it has its present model
  std::vector<ParticipantStatus> participants;            // ascending by name
  std::vector<std::shared_ptr<const RoundLine>> history;  // in the order of events
  std::vector<ModelRecord> models;                        // ascending by round
  std::optional<std::uint32_t> to_judge;  // the round whose model is to be judged on the operator's images

  bool ended() const { return condition >= RunCondition::kFinished; }
};

}  // namespace tributary
