#include "aggregator/learning/service/federation_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "core/link/refusals.h"

namespace tributary {
namespace {

// Long enough for host names; short enough for labels and file names.
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxContributors = 65'536;

absl::Status CheckName(std::string_view field, const std::string& name) {
  if (name.empty() || name.size() > kMaxName) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} bytes, expected 1 to {}", field, name.size(), kMaxName));
  }
  // It goes into logs, and onto terminals.
  if (std::ranges::any_of(name, [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); })) {
    return absl::InvalidArgumentError(fmt::format("{}: control characters are not allowed", field));
  }
  return absl::OkStatus();
}

absl::Status CheckBootId(const std::string& boot_id) {
  constexpr std::size_t kBootIdBytes = 16;
  if (boot_id.size() == kBootIdBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("boot_id: {} bytes, expected {}", boot_id.size(), kBootIdBytes));
}

// Of a digest or a key.
absl::StatusOr<Sha256> Bytes32FromWire(std::string_view field, const std::string& bytes) {
  Sha256 result{};
  if (bytes.size() != result.size()) {
    return absl::InvalidArgumentError(fmt::format("{}: {} bytes, expected 32", field, bytes.size()));
  }
  std::memcpy(result.data(), bytes.data(), result.size());
  return result;
}

std::optional<UpdateEncoding> EncodingFromWire(int encoding) {
  if (encoding < v1::UPDATE_ENCODING_FLOAT32 || encoding > v1::UPDATE_ENCODING_FIXED32) return std::nullopt;
  return static_cast<UpdateEncoding>(encoding);
}

// Shown, never computed with; a number that is none must not reach a table or a metric.
double Shown(double value) { return std::isfinite(value) ? value : 0; }

void SettingsToWire(const TaskNotice& notice, v1::ClientSettings& wire) {
  const ClientSettings& settings = notice.settings;
  wire.set_workload(settings.workload);
  wire.set_local_steps(settings.local_steps);
  wire.set_batch(settings.batch);
  wire.set_learning_rate(settings.learning_rate);
  wire.set_momentum(settings.momentum);
  wire.set_weight_decay(settings.weight_decay);
  wire.set_proximal_mu(settings.proximal_mu);
  wire.set_ema_lambda(settings.ema_lambda);
  wire.set_encoding(static_cast<v1::UpdateEncoding>(settings.encoding));
  wire.set_clip_norm(notice.clip_norm);
  wire.set_seed(settings.seed);
  wire.set_schedule_steps(notice.schedule_steps);
  wire.set_method(settings.method);
  wire.set_augmentation(settings.augmentation);
  wire.set_target_decay(settings.target_decay);
}

absl::StatusOr<std::vector<RevealedShare>> RevealedFromWire(
    std::string_view field, const google::protobuf::RepeatedPtrField<v1::RevealedShare>& wire) {
  std::vector<RevealedShare> shares;
  for (const v1::RevealedShare& each : wire) {
    absl::StatusOr<Key32> share = Bytes32FromWire(field, each.share());
    if (!share.ok()) return share.status();
    shares.push_back({each.of(), *share});
  }
  return shares;
}

void RosterToWire(const MaskingRoster& roster, google::protobuf::RepeatedPtrField<v1::NodeKeys>& wire) {
  for (const MaskingKeys& each : roster) {
    v1::NodeKeys& keys = *wire.Add();
    keys.set_node(each.node);
    keys.set_cipher_key(BytesOf(each.cipher_key));
    keys.set_mask_key(BytesOf(each.mask_key));
  }
}

void TrainToWire(const TaskNotice& notice, v1::TrainTask& wire) {
  wire.set_round(notice.task.round);
  wire.set_deadline_unix_ns(notice.deadline_unix_ns);
  wire.set_left_ns(notice.left_ns);
  wire.set_model_sha256(BytesOf(notice.model.model));
  wire.set_model_bytes(notice.model_bytes);
  wire.set_schema_sha256(BytesOf(notice.model.schema));
  wire.set_element_count(notice.model.element_count);
  SettingsToWire(notice, *wire.mutable_settings());
  wire.set_fraction_bits(notice.fixed_point.fraction_bits);
  wire.set_max_element(static_cast<float>(notice.max_element));
  wire.set_uniform_weight(notice.uniform_weight);
  wire.set_max_sample_count(notice.max_sample_count);
  if (!notice.masked) return;
  wire.mutable_settings()->set_encoding(v1::UPDATE_ENCODING_FIXED32);
  v1::MaskingTask& masking = *wire.mutable_masking();
  masking.set_threshold(static_cast<std::uint32_t>(notice.threshold));
  RosterToWire(notice.roster, *masking.mutable_nodes());
  for (const SealedShare& share : notice.shares) {
    v1::EncryptedShare& sealed = *masking.add_shares();
    sealed.set_from(share.from);
    sealed.set_to(share.to);
    sealed.set_ciphertext(share.ciphertext);
    sealed.set_seed_digest(BytesOf(share.seed_digest));
    sealed.set_key_digest(BytesOf(share.key_digest));
  }
}

}  // namespace

absl::StatusOr<Coordinator::Declined> DeclineFromWire(const v1::DeclineTaskRequest& request) {
  if (absl::Status status = CheckName("node", request.node()); !status.ok()) return status;
  if (absl::Status status = CheckBootId(request.boot_id()); !status.ok()) return status;
  // A newer node may have other reasons.
  const bool known = v1::DeclineReason_IsValid(request.reason());
  const auto reason = known ? static_cast<DeclineReason>(request.reason()) : DeclineReason::kUnspecified;
  return Coordinator::Declined{request.round(),
                               request.node(),
                               request.boot_id(),
                               {reason, request.for_good(), PeerText(request.message())}};
}

absl::StatusOr<NodeDeclaration> DeclarationFromWire(const v1::ParticipateRequest& request) {
  if (absl::Status status = CheckName("node", request.node()); !status.ok()) return status;
  NodeDeclaration declaration;
  declaration.node = request.node();
  declaration.boot_id = request.boot_id();
  if (absl::Status status = CheckBootId(declaration.boot_id); !status.ok()) return status;
  if (!request.schema_sha256().empty()) {
    absl::StatusOr<Sha256> schema = Bytes32FromWire("schema_sha256", request.schema_sha256());
    if (!schema.ok()) return schema.status();
    declaration.schema = *schema;
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

absl::StatusOr<SubmissionHeader> HeaderFromWire(const v1::UpdateHeader& wire) {
  if (absl::Status status = CheckName("header.node", wire.node()); !status.ok()) return status;
  SubmissionHeader header;
  header.round = wire.round();
  header.node = wire.node();
  absl::StatusOr<Sha256> schema = Bytes32FromWire("header.schema_sha256", wire.schema_sha256());
  if (!schema.ok()) return schema.status();
  header.schema = *schema;
  absl::StatusOr<Sha256> base = Bytes32FromWire("header.base_model_sha256", wire.base_model_sha256());
  if (!base.ok()) return base.status();
  header.base_model = *base;
  const std::optional<UpdateEncoding> encoding = EncodingFromWire(wire.encoding());
  if (!encoding) {
    return absl::InvalidArgumentError(
        fmt::format("header.encoding: {} is not known here", static_cast<int>(wire.encoding())));
  }
  header.encoding = *encoding;
  header.element_count = wire.element_count();
  header.sample_count = wire.sample_count();
  header.metrics = {Shown(wire.metrics().loss()), Shown(wire.metrics().spread()),
                    Shown(wire.metrics().seconds()), wire.metrics().steps()};
  if (static_cast<std::size_t>(wire.contributors_size()) > kMaxContributors) {
    return absl::InvalidArgumentError(fmt::format("header.contributors: {} of them, at most {} are allowed",
                                                  wire.contributors_size(), kMaxContributors));
  }
  for (const v1::Contributor& each : wire.contributors()) {
    if (absl::Status status = CheckName("header.contributors.node", each.node()); !status.ok()) return status;
    header.contributors.push_back({each.node(), each.sample_count()});
  }
  return header;
}

absl::StatusOr<MaskingKeys> KeysFromWire(const v1::AdvertiseKeysRequest& request) {
  MaskingKeys keys;
  keys.node = request.node();
  absl::StatusOr<Key32> cipher = Bytes32FromWire("cipher_key", request.cipher_key());
  if (!cipher.ok()) return cipher.status();
  absl::StatusOr<Key32> mask = Bytes32FromWire("mask_key", request.mask_key());
  if (!mask.ok()) return mask.status();
  absl::StatusOr<Key32> seed = Bytes32FromWire("seed_digest", request.seed_digest());
  if (!seed.ok()) return seed.status();
  keys.cipher_key = *cipher;
  keys.mask_key = *mask;
  keys.seed_digest = *seed;
  return keys;
}

absl::StatusOr<std::vector<SealedShare>> SharesFromWire(const v1::ShareKeysRequest& request) {
  std::vector<SealedShare> shares;
  for (const v1::EncryptedShare& each : request.shares()) {
    absl::StatusOr<Key32> seed = Bytes32FromWire("shares.seed_digest", each.seed_digest());
    if (!seed.ok()) return seed.status();
    absl::StatusOr<Key32> key = Bytes32FromWire("shares.key_digest", each.key_digest());
    if (!key.ok()) return key.status();
    shares.push_back({each.from(), each.to(), each.ciphertext(), *seed, *key});
  }
  return shares;
}

absl::StatusOr<RevealedShares> RevealedFromWire(const v1::UnmaskRequest& request) {
  absl::StatusOr<std::vector<RevealedShare>> seeds = RevealedFromWire("seed_shares", request.seed_shares());
  if (!seeds.ok()) return seeds.status();
  absl::StatusOr<std::vector<RevealedShare>> keys = RevealedFromWire("key_shares", request.key_shares());
  if (!keys.ok()) return keys.status();
  return RevealedShares{request.node(), *std::move(seeds), *std::move(keys)};
}

UpdateChunk ChunkFromWire(const v1::UpdateChunk& chunk) {
  return {chunk.offset(), chunk.count(), chunk.payload(), chunk.crc32c()};
}

v1::ParticipateResponse TaskToWire(const TaskNotice& notice) {
  v1::ParticipateResponse response;
  response.set_run(notice.run);
  switch (notice.task.kind) {
    case TaskKind::kAdvertiseKeys:
      response.mutable_advertise_keys()->set_round(notice.task.round);
      response.mutable_advertise_keys()->set_deadline_unix_ns(notice.deadline_unix_ns);
      break;
    case TaskKind::kShareKeys:
      response.mutable_share_keys()->set_round(notice.task.round);
      response.mutable_share_keys()->set_deadline_unix_ns(notice.deadline_unix_ns);
      response.mutable_share_keys()->set_threshold(static_cast<std::uint32_t>(notice.threshold));
      RosterToWire(notice.roster, *response.mutable_share_keys()->mutable_nodes());
      break;
    case TaskKind::kUnmask:
      response.mutable_unmask()->set_round(notice.task.round);
      response.mutable_unmask()->set_deadline_unix_ns(notice.deadline_unix_ns);
      response.mutable_unmask()->mutable_survivors()->Assign(notice.survivors.begin(),
                                                             notice.survivors.end());
      response.mutable_unmask()->mutable_dropped()->Assign(notice.dropped.begin(), notice.dropped.end());
      break;
    case TaskKind::kTrain:
      TrainToWire(notice, *response.mutable_train());
      break;
    case TaskKind::kEnded:
      response.mutable_ended()->set_reason(notice.task.reason);
      response.mutable_ended()->set_rounds(notice.committed);
      response.mutable_ended()->set_model_sha256(BytesOf(notice.model.model));
      break;
    case TaskKind::kWait:
      response.mutable_wait()->set_reason(notice.task.reason);
  }
  return response;
}

v1::SubmitUpdateResponse AnswerToWire(const SubmissionAnswer& answer) {
  v1::SubmitUpdateResponse response;
  response.set_accepted(answer.accepted);
  response.set_reason(static_cast<v1::SubmitRefusal>(answer.reason));
  response.set_message(answer.message);
  response.set_try_again(answer.try_again);
  response.mutable_counted_elsewhere()->Assign(answer.counted_elsewhere.begin(),
                                               answer.counted_elsewhere.end());
  return response;
}

}  // namespace tributary
