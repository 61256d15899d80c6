// Between the messages of federation.proto and what the coordinator works with.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/round/submission.h"
#include "aggregator/learning/run/update_file.h"
#include "aggregator/learning/service/coordinator.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// InvalidArgument, naming the field.
absl::StatusOr<NodeDeclaration> DeclarationFromWire(const v1::ParticipateRequest& request);

absl::StatusOr<Coordinator::DeclineCall> DeclineFromWire(const v1::DeclineTaskRequest& request);

absl::StatusOr<MaskingMessage> StepFromWire(const v1::AdvertiseKeysRequest& request);
absl::StatusOr<MaskingMessage> StepFromWire(const v1::ShareKeysRequest& request);
absl::StatusOr<MaskingMessage> StepFromWire(const v1::UnmaskRequest& request);
// Views into `chunk`.
UpdateChunk ChunkFromWire(const v1::UpdateChunk& chunk);

v1::SubmitUpdateResponse AnswerToWire(const Admission& answer);

}  // namespace tributary::learning
