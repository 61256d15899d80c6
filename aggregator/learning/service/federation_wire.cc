#include "aggregator/learning/service/federation_wire.h"

#include <fmt/format.h>

#include <utility>

#include "aggregator/learning/run/messages.h"
#include "core/status/macros.h"
#include "core/wire/peer_text.h"

namespace tributary::learning {
namespace {

absl::Status CheckBootId(const std::string& boot_id) {
  constexpr std::size_t kBootIdBytes = 16;
  if (boot_id.size() == kBootIdBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("boot_id: {} bytes, expected {}", boot_id.size(), kBootIdBytes));
}

absl::StatusOr<std::vector<privacy::RevealedShare>> RevealedFromWire(
    std::string_view field, const google::protobuf::RepeatedPtrField<v1::RevealedShare>& wire) {
  std::vector<privacy::RevealedShare> shares;
  for (const v1::RevealedShare& each : wire) {
    ASSIGN_OR_RETURN(const privacy::Key32 share, Bytes32FromWire(field, each.share()));
    shares.push_back({each.of(), share});
  }
  return shares;
}

}  // namespace

absl::StatusOr<Coordinator::DeclineCall> DeclineFromWire(const v1::DeclineTaskRequest& request) {
  RETURN_IF_ERROR(CheckName("node", request.node()));
  RETURN_IF_ERROR(CheckBootId(request.boot_id()));
  // A newer node may have other reasons.
  const bool known = v1::DeclineReason_IsValid(request.reason());
  const auto reason = known ? static_cast<parameters::DeclineReason>(request.reason())
                            : parameters::DeclineReason::kUnspecified;
  return Coordinator::DeclineCall{request.round(),
                                  request.node(),
                                  request.boot_id(),
                                  {reason, request.for_good(), wire::PeerText(request.message())}};
}

absl::StatusOr<NodeDeclaration> DeclarationFromWire(const v1::ParticipateRequest& request) {
  RETURN_IF_ERROR(CheckName("node", request.node()));
  NodeDeclaration declaration;
  declaration.node = request.node();
  declaration.boot_id = request.boot_id();
  RETURN_IF_ERROR(CheckBootId(declaration.boot_id));
  if (!request.schema_sha256().empty()) {
    ASSIGN_OR_RETURN(declaration.schema, Bytes32FromWire("schema_sha256", request.schema_sha256()));
  }
  declaration.sample_count = request.sample_count();
  declaration.workloads.assign(request.workloads().begin(), request.workloads().end());
  for (const int encoding : request.encodings()) {
    // One that is not known here (a newer node) can not be asked for either.
    if (const auto known = EncodingFromWire(encoding)) declaration.encodings.push_back(*known);
  }
  declaration.secure_aggregation = request.secure_aggregation();
  declaration.partial_sums = request.partial_sums();
  return declaration;
}

absl::StatusOr<MaskingMessage> StepFromWire(const v1::AdvertiseKeysRequest& request) {
  privacy::MaskingKeys keys;
  keys.node = request.node();
  ASSIGN_OR_RETURN(keys.cipher_key, Bytes32FromWire("cipher_key", request.cipher_key()));
  ASSIGN_OR_RETURN(keys.mask_key, Bytes32FromWire("mask_key", request.mask_key()));
  ASSIGN_OR_RETURN(keys.seed_digest, Bytes32FromWire("seed_digest", request.seed_digest()));
  return MaskingMessage{request.round(), request.node(), std::move(keys)};
}

absl::StatusOr<MaskingMessage> StepFromWire(const v1::ShareKeysRequest& request) {
  std::vector<privacy::SealedShare> shares;
  for (const v1::EncryptedShare& each : request.shares()) {
    ASSIGN_OR_RETURN(const privacy::Key32 seed, Bytes32FromWire("shares.seed_digest", each.seed_digest()));
    ASSIGN_OR_RETURN(const privacy::Key32 key, Bytes32FromWire("shares.key_digest", each.key_digest()));
    shares.push_back({each.from(), each.to(), each.ciphertext(), seed, key});
  }
  return MaskingMessage{request.round(), request.node(), std::move(shares)};
}

absl::StatusOr<MaskingMessage> StepFromWire(const v1::UnmaskRequest& request) {
  privacy::RevealedShares revealed;
  revealed.from = request.node();
  ASSIGN_OR_RETURN(revealed.seeds, RevealedFromWire("seed_shares", request.seed_shares()));
  ASSIGN_OR_RETURN(revealed.keys, RevealedFromWire("key_shares", request.key_shares()));
  return MaskingMessage{request.round(), request.node(), std::move(revealed)};
}

UpdateChunk ChunkFromWire(const v1::UpdateChunk& chunk) {
  return {chunk.offset(), chunk.count(), chunk.payload(), chunk.crc32c()};
}

v1::SubmitUpdateResponse AnswerToWire(const Admission& answer) {
  v1::SubmitUpdateResponse response;
  if (answer.verdict != AdmissionVerdict::kRefused) {
    response.set_accepted(true);
    return response;
  }
  response.set_reason(static_cast<v1::SubmitRefusal>(answer.reason));
  response.set_message(answer.message);
  response.set_try_again(answer.try_again);
  response.mutable_counted_elsewhere()->Assign(answer.counted_elsewhere.begin(),
                                               answer.counted_elsewhere.end());
  return response;
}

}  // namespace tributary::learning
