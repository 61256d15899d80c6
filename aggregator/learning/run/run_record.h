// What others may see of a run: a copy, made by the thread that owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tributary/v1/run.pb.h"

namespace tributary::learning {

struct RunRecord {
  v1::Run run;                                // without its configuration
  std::shared_ptr<const std::string> config;  // as it was given
  std::uint32_t model_round = 0;              // after which it has its present model
  std::optional<std::uint32_t> to_judge;  // the round whose model is to be judged on the operator's images
  std::uint64_t history_changes = 0;      // lines written or amended since the aggregator was started
  std::shared_ptr<const v1::Round> last_committed;  // null: none
  std::shared_ptr<const v1::Round> last_evaluated;  // null: none

  bool ended() const { return run.state() >= v1::RUN_STATE_FINISHED; }
};

}  // namespace tributary::learning
