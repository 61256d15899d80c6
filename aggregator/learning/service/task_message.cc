#include "aggregator/learning/service/task_message.h"

#include <utility>

namespace tributary::learning {
namespace {

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
    v1::EncryptedShare& sealed = *task.add_shares();
    sealed.set_from(share.from);
    sealed.set_to(share.to);
    sealed.set_ciphertext(share.ciphertext);
    sealed.set_seed_digest(parameters::BytesOf(share.seed_digest));
    sealed.set_key_digest(parameters::BytesOf(share.key_digest));
  }
}

void AddTraining(const RunState& state, const std::string& node, v1::TrainTask& wire) {
  const RunConfig& config = state.config();
  wire.set_model_sha256(parameters::BytesOf(state.model().model));
  wire.set_schema_sha256(parameters::BytesOf(state.model().schema));
  wire.set_element_count(state.model().element_count);
  *wire.mutable_settings() = config.client;
  wire.set_fraction_bits(state.under_way()->started().fixed_point.fraction_bits);
  wire.set_max_element(static_cast<float>(config.max_element));
  wire.set_uniform_weight(config.weighting == UpdateWeighting::kUniform);
  if (const AskedNode* asked = state.under_way()->Asked(node)) wire.set_max_sample_count(asked->sample_count);
}

template <class Task>
void AddRound(const NodeTask& task, const runtime::Clock& clock, Task& wire) {
  wire.set_round(task.round);
  if (task.deadline_ns == kNoDeadline) return;
  wire.set_deadline_unix_ns(clock.UnixNs() + task.deadline_ns - clock.SteadyNs());
}

}  // namespace

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
      message.mutable_ended()->set_rounds(state.committed());
      message.mutable_ended()->set_model_sha256(parameters::BytesOf(state.model().model));
      break;
  }
  message.set_run(state.config().name);
  return message;
}

}  // namespace tributary::learning
