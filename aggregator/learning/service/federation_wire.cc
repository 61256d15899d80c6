#include "aggregator/learning/service/federation_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "aggregator/learning/run/messages.h"
#include "core/status/macros.h"
#include "core/wire/fields.h"
#include "core/wire/peer.h"

namespace tributary::learning {
namespace {

absl::StatusOr<std::vector<privacy::RevealedShare>> RevealedFromWire(
    std::string_view field, const google::protobuf::RepeatedPtrField<v1::RevealedShare>& wire) {
  std::vector<privacy::RevealedShare> shares;
  for (const v1::RevealedShare& each : wire) {
    ASSIGN_OR_RETURN(const privacy::Key32 share, wire::Bytes32FromWire(field, each.share()));
    shares.push_back({each.of(), share});
  }
  return shares;
}

void AddRoster(const privacy::MaskingRoster& roster, google::protobuf::RepeatedPtrField<v1::NodeKeys>& wire) {
  for (const privacy::MaskingKeys& each : roster) {
    v1::NodeKeys& keys = *wire.Add();
    keys.set_node(each.node);
    keys.set_cipher_key(parameters::BytesOf(each.cipher_key));
    keys.set_mask_key(parameters::BytesOf(each.mask_key));
  }
}

void AddMasking(const MaskingSession& masking, const std::string& node, v1::TrainTask& wire) {
  wire.mutable_settings()->set_encoding(v1::UPDATE_ENCODING_FIXED32);
  v1::MaskingTask& task = *wire.mutable_masking();
  task.set_threshold(static_cast<std::uint32_t>(masking.threshold()));
  AddRoster(masking.masked_roster(), *task.mutable_nodes());
  for (const privacy::SealedShare& share : masking.SharesFor(node)) {
    wire::ShareToWire(share, *task.add_shares());
  }
}

void AddTraining(const RunState& state, const std::string& node, v1::TrainTask& wire) {
  const RunConfig& config = state.config;
  wire.set_model_sha256(parameters::BytesOf(state.model().model));
  wire.set_schema_sha256(parameters::BytesOf(state.model().schema));
  wire.set_element_count(state.model().element_count);
  *wire.mutable_settings() = config.client;
  wire.set_fraction_bits(state.under_way()->started().fraction_bits());
  wire.set_word_bits(state.under_way()->started().word_bits());
  wire.set_max_element(static_cast<float>(config.max_element));
  wire.set_uniform_weight(config.weighting == UpdateWeighting::kUniform);
  const std::uint32_t before = state.under_way()->number() - 1;
  wire.set_failed_rounds(config.relayed ? state.under_way()->started().failed_rounds()
                                        : before - std::min(before, state.committed));
  const v1::AskedNode* asked = state.under_way()->Asked(node);
  if (asked != nullptr) wire.set_max_sample_count(asked->sample_count());
}

template <class Task>
void AddRound(const NodeTask& task, const runtime::Clock& clock, Task& wire) {
  wire.set_round(task.round);
  if (task.deadline_ns == kNoDeadline) return;
  wire.set_deadline_unix_ns(clock.UnixNs() + task.deadline_ns - clock.SteadyNs());
}

}  // namespace

absl::Status CheckMessage(v1::DeclineTaskRequest& request) {
  RETURN_IF_ERROR(wire::CheckName("node", request.node()));
  RETURN_IF_ERROR(wire::CheckBootId("boot_id", request.boot_id()));
  // A newer node may have other reasons.
  if (!v1::DeclineReason_IsValid(request.reason())) request.clear_reason();
  request.set_message(wire::PeerText(request.message()));
  request.DiscardUnknownFields();
  return absl::OkStatus();
}

absl::Status CheckMessage(v1::ParticipateRequest& request) {
  RETURN_IF_ERROR(wire::CheckName("node", request.node()));
  RETURN_IF_ERROR(wire::CheckBootId("boot_id", request.boot_id()));
  if (!request.schema_sha256().empty()) {
    RETURN_IF_ERROR(wire::Bytes32FromWire("schema_sha256", request.schema_sha256()).status());
  }
  if (!request.run().empty()) RETURN_IF_ERROR(wire::CheckName("run", request.run()));
  // The message is kept as long as the node is known: a million empty texts fit in 2 MB on the wire.
  constexpr int kMostListed = 64;
  if (request.workloads_size() > kMostListed || request.encodings_size() > kMostListed) {
    return absl::InvalidArgumentError(
        fmt::format("workloads, encodings: {} and {} of them, at most {} each are allowed",
                    request.workloads_size(), request.encodings_size(), kMostListed));
  }
  constexpr std::size_t kMostNameBytes = 2048;
  std::size_t name_bytes = 0;
  for (const std::string& each : request.workloads()) {
    RETURN_IF_ERROR(wire::CheckName("workloads", each));
    name_bytes += each.size();
  }
  if (name_bytes > kMostNameBytes) {
    return absl::InvalidArgumentError(
        fmt::format("workloads: {} bytes of names, at most {} are allowed", name_bytes, kMostNameBytes));
  }
  request.DiscardUnknownFields();
  return absl::OkStatus();
}

absl::StatusOr<MaskingMessage> StepFromWire(const v1::AdvertiseKeysRequest& request) {
  privacy::MaskingKeys keys;
  keys.node = request.node();
  ASSIGN_OR_RETURN(keys.cipher_key, wire::Bytes32FromWire("cipher_key", request.cipher_key()));
  ASSIGN_OR_RETURN(keys.mask_key, wire::Bytes32FromWire("mask_key", request.mask_key()));
  ASSIGN_OR_RETURN(keys.seed_digest, wire::Bytes32FromWire("seed_digest", request.seed_digest()));
  return MaskingMessage{request.round(), request.node(), std::move(keys)};
}

absl::StatusOr<MaskingMessage> StepFromWire(const v1::ShareKeysRequest& request) {
  std::vector<privacy::SealedShare> shares;
  for (const v1::EncryptedShare& each : request.shares()) {
    ASSIGN_OR_RETURN(shares.emplace_back(), wire::ShareFromWire(each));
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

v1::SubmitUpdateResponse AnswerToWire(const Admission& answer) {
  v1::SubmitUpdateResponse response;
  if (answer.verdict != AdmissionVerdict::kRefused) {
    response.set_accepted(true);
    return response;
  }
  response.set_reason(answer.reason);
  response.set_message(answer.message);
  response.set_try_again(answer.try_again);
  response.mutable_counted_elsewhere()->Assign(answer.counted_elsewhere.begin(),
                                               answer.counted_elsewhere.end());
  return response;
}

v1::ParticipateResponse WaitMessage(std::string reason) {
  v1::ParticipateResponse message;
  message.mutable_wait()->set_reason(std::move(reason));
  return message;
}

v1::ParticipateResponse TaskMessage(const RunState& state, std::uint64_t model_bytes,
                                    const MaskingSession* masking, const std::string& node,
                                    const NodeTask& task, const runtime::Clock& clock) {
  v1::ParticipateResponse message;
  switch (task.kind) {
    case TaskKind::kWait:
      message = WaitMessage(task.reason);
      break;
    case TaskKind::kAdvertiseKeys:
      AddRound(task, clock, *message.mutable_advertise_keys());
      break;
    case TaskKind::kShareKeys:
      AddRound(task, clock, *message.mutable_share_keys());
      message.mutable_share_keys()->set_threshold(static_cast<std::uint32_t>(masking->threshold()));
      AddRoster(masking->roster(), *message.mutable_share_keys()->mutable_nodes());
      break;
    case TaskKind::kTrain:
      AddRound(task, clock, *message.mutable_train());
      if (task.deadline_ns != kNoDeadline) {
        message.mutable_train()->set_left_ns(task.deadline_ns - clock.SteadyNs());
      }
      message.mutable_train()->set_model_bytes(model_bytes);
      AddTraining(state, node, *message.mutable_train());
      if (masking != nullptr) AddMasking(*masking, node, *message.mutable_train());
      break;
    case TaskKind::kUnmask: {
      v1::UnmaskTask& wire = *message.mutable_unmask();
      AddRound(task, clock, wire);
      wire.mutable_survivors()->Assign(masking->survivors().begin(), masking->survivors().end());
      wire.mutable_dropped()->Assign(masking->dropped().begin(), masking->dropped().end());
      break;
    }
    case TaskKind::kEnded:
      message.mutable_ended()->set_reason(task.reason);
      message.mutable_ended()->set_rounds(state.committed);
      message.mutable_ended()->set_finished(state.phase() == v1::RUN_STATE_FINISHED);
      message.mutable_ended()->set_model_sha256(parameters::BytesOf(state.model().model));
      break;
  }
  message.set_run(state.config.name);
  return message;
}

}  // namespace tributary::learning
