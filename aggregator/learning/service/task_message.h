// What a node is told to do, as it travels.
#pragma once

#include <cstdint>
#include <string>

#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/run/masking_session.h"
#include "core/runtime/clock.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// What the run's state says of the node's task. `model_bytes`: of its file; `masking`: null without secure
// aggregation.
v1::ParticipateResponse TaskMessage(const RunState& state, std::uint64_t model_bytes,
                                    const MaskingSession* masking, const std::string& node,
                                    const NodeTask& task, const runtime::Clock& clock);

// To a node that is in no run.
v1::ParticipateResponse WaitMessage(std::string reason);

}  // namespace tributary::learning
