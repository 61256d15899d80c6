// Between the messages of federation.proto and what the coordinator works with.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/round/submission.h"
#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/task_notice.h"
#include "aggregator/learning/service/upload.h"
#include "tributary/v1/federation.pb.h"

namespace tributary {

// InvalidArgument, naming the field.
absl::StatusOr<NodeDeclaration> DeclarationFromWire(const v1::ParticipateRequest& request);
absl::StatusOr<SubmissionHeader> HeaderFromWire(const v1::UpdateHeader& header);

absl::StatusOr<Coordinator::Declined> DeclineFromWire(const v1::DeclineTaskRequest& request);

absl::StatusOr<MaskingKeys> KeysFromWire(const v1::AdvertiseKeysRequest& request);
absl::StatusOr<std::vector<SealedShare>> SharesFromWire(const v1::ShareKeysRequest& request);
absl::StatusOr<RevealedShares> RevealedFromWire(const v1::UnmaskRequest& request);

// Views into `chunk`.
UpdateChunk ChunkFromWire(const v1::UpdateChunk& chunk);

v1::ParticipateResponse TaskToWire(const TaskNotice& notice);
v1::SubmitUpdateResponse AnswerToWire(const SubmissionAnswer& answer);

}  // namespace tributary
