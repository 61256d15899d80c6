// Between the messages of federation.proto and what the coordinator works with.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/federation/run_state.h"
#include "aggregator/federation/submission.h"
#include "aggregator/rounds/coordinator.h"
#include "aggregator/rounds/task_notice.h"
#include "aggregator/rounds/upload.h"
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
