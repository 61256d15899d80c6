// Between the messages of federation.proto and what the coordinator works with.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/admission.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/run/masking_session.h"
#include "core/runtime/clock.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// What a node says. InvalidArgument, naming the field. Leaves nothing unknown, and names and text that are
// short and can be shown.
absl::Status CheckMessage(v1::ParticipateRequest& request);
absl::Status CheckMessage(v1::DeclineTaskRequest& request);

// InvalidArgument, naming the field.
absl::StatusOr<MaskingMessage> StepFromWire(const v1::AdvertiseKeysRequest& request);
absl::StatusOr<MaskingMessage> StepFromWire(const v1::ShareKeysRequest& request);
absl::StatusOr<MaskingMessage> StepFromWire(const v1::UnmaskRequest& request);

v1::SubmitUpdateResponse AnswerToWire(const Admission& answer);

// What the run's state says of the node's task. `model_bytes`: of its file; `masking`: null without secure
// aggregation.
v1::ParticipateResponse TaskMessage(const RunState& state, std::uint64_t model_bytes,
                                    const MaskingSession* masking, const std::string& node,
                                    const NodeTask& task, const runtime::Clock& clock);

// To a node that is in no run.
v1::ParticipateResponse WaitMessage(std::string reason);

}  // namespace tributary::learning
