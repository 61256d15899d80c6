#include "core/wire/federation_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/learning/client_settings.h"
#include "core/parameters/tensor.h"
#include "core/status/macros.h"
#include "core/wire/fields.h"

namespace tributary::wire {
namespace {

// 2^96 times a sample count of 2^31 still fits in a float.
constexpr int kMaxFractionBits = 96;

template <class Message>
using Repeated = google::protobuf::RepeatedPtrField<Message>;

absl::Status MustBe(bool holds, std::string_view field, std::string_view allowed) {
  if (holds) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{} must be {}", field, allowed));
}

absl::Status CheckRound(const std::string& run, std::uint32_t round) {
  RETURN_IF_ERROR(CheckName("run", run));
  return MustBe(round >= 1, "round", "at least 1");
}

absl::StatusOr<parameters::FixedPoint> FixedPointFromWire(const v1::TrainTask& wire) {
  const std::uint32_t bits = wire.word_bits();
  RETURN_IF_ERROR(MustBe(bits == 0 || bits == 32 || bits == 64, "word_bits", "32 or 64"));
  RETURN_IF_ERROR(MustBe(bits != 64 || !wire.has_masking(), "word_bits", "32 where updates are masked"));
  const parameters::FixedPoint fixed_point{wire.fraction_bits(), wire.max_element(), bits == 64 ? 64 : 32};
  RETURN_IF_ERROR(
      MustBe(std::abs(fixed_point.fraction_bits) <= kMaxFractionBits, "fraction_bits",
             fmt::format("from -{0} to {0}, found {1}", kMaxFractionBits, fixed_point.fraction_bits)));
  // NaN fails here, too. With a weight of 1 the largest element must fit in a word.
  RETURN_IF_ERROR(MustBe(
      fixed_point.bound > 0 && fixed_point.LargestWord(1, 0) < std::ldexp(1, fixed_point.word_bits - 1),
      "max_element", "positive and below 2^(word_bits - 1 - fraction_bits)"));
  return fixed_point;
}

absl::Status CheckMaskingCount(std::string_view field, int count) {
  return MustBe(static_cast<std::size_t>(count) <= privacy::kMaxMaskingNodes, field,
                fmt::format("at most {}, found {}", privacy::kMaxMaskingNodes, count));
}

absl::StatusOr<privacy::MaskingRoster> RosterFromWire(const Repeated<v1::NodeKeys>& wire,
                                                      std::size_t threshold) {
  RETURN_IF_ERROR(CheckMaskingCount("nodes", wire.size()));
  privacy::MaskingRoster roster;
  for (const v1::NodeKeys& each : wire) {
    RETURN_IF_ERROR(CheckName("nodes.node", each.node()));
    ASSIGN_OR_RETURN(const privacy::Key32 cipher, Bytes32FromWire("nodes.cipher_key", each.cipher_key()));
    ASSIGN_OR_RETURN(const privacy::Key32 mask, Bytes32FromWire("nodes.mask_key", each.mask_key()));
    roster.push_back({each.node(), cipher, mask, {}});
  }
  if (absl::Status status = privacy::ValidateRoster(roster, threshold); !status.ok()) {
    return absl::InvalidArgumentError(fmt::format("nodes: {}", std::string(status.message())));
  }
  return roster;
}

absl::StatusOr<std::vector<std::string>> NamesFromWire(std::string_view field,
                                                       const Repeated<std::string>& wire) {
  RETURN_IF_ERROR(CheckMaskingCount(field, wire.size()));
  for (const std::string& name : wire) RETURN_IF_ERROR(CheckName(field, name));
  return std::vector<std::string>(wire.begin(), wire.end());
}

// With the shares for this node.
absl::StatusOr<MaskingTask> MaskingFromWire(const v1::MaskingTask& wire) {
  MaskingTask task;
  task.threshold = wire.threshold();
  ASSIGN_OR_RETURN(task.nodes, RosterFromWire(wire.nodes(), wire.threshold()));
  RETURN_IF_ERROR(CheckMaskingCount("shares", wire.shares_size()));
  for (const v1::EncryptedShare& share : wire.shares()) {
    RETURN_IF_ERROR(CheckName("shares.from", share.from()));
    RETURN_IF_ERROR(CheckName("shares.to", share.to()));
    RETURN_IF_ERROR(MustBe(
        share.ciphertext().size() <= privacy::kMaxSealedShareBytes, "shares.ciphertext",
        fmt::format("at most {} bytes, found {}", privacy::kMaxSealedShareBytes, share.ciphertext().size())));
    ASSIGN_OR_RETURN(task.shares.emplace_back(), ShareFromWire(share));
  }
  return task;
}

absl::StatusOr<FederationTask> TrainFromWire(const std::string& run, const v1::TrainTask& wire) {
  RETURN_IF_ERROR(CheckRound(run, wire.round()));
  RETURN_IF_ERROR(Bytes32FromWire("model_sha256", wire.model_sha256()).status());
  RETURN_IF_ERROR(Bytes32FromWire("schema_sha256", wire.schema_sha256()).status());
  RETURN_IF_ERROR(MustBe(wire.model_bytes() >= 1 && wire.model_bytes() <= kMaxModelBytes, "model_bytes",
                         fmt::format("from 1 to {}", kMaxModelBytes)));
  RETURN_IF_ERROR(MustBe(wire.element_count() >= 1 && wire.element_count() <= kMaxElements, "element_count",
                         fmt::format("from 1 to {}", kMaxElements)));
  RETURN_IF_ERROR(MustBe(wire.failed_rounds() < wire.round(), "failed_rounds", "less than the round"));
  TrainTask task;
  task.run = run;
  task.round = wire.round();
  task.train = wire;
  task.train.clear_masking();
  // A longer time is no deadline; adding it to the steady time must not overflow.
  constexpr std::int64_t kYearNs = 365LL * 24 * 3600 * 1'000'000'000;
  task.train.set_left_ns(std::clamp<std::int64_t>(wire.left_ns(), 0, kYearNs));
  RETURN_IF_ERROR(learning::AdoptFromTask(*task.train.mutable_settings(), wire.has_masking()));
  ASSIGN_OR_RETURN(task.fixed_point, FixedPointFromWire(wire));
  if (!wire.has_masking()) return task;
  absl::StatusOr<MaskingTask> masking = MaskingFromWire(wire.masking());
  if (!masking.ok()) return absl::FailedPreconditionError(std::string(masking.status().message()));
  if (masking->shares.size() + 1 != masking->nodes.size()) {
    return absl::FailedPreconditionError(fmt::format("masking: {} shares, expected one of each of {} others",
                                                     masking->shares.size(), masking->nodes.size() - 1));
  }
  task.masking = *std::move(masking);
  return task;
}

absl::StatusOr<FederationTask> ShareKeysFromWire(const std::string& run, const v1::ShareKeysTask& wire) {
  RETURN_IF_ERROR(CheckRound(run, wire.round()));
  ASSIGN_OR_RETURN(privacy::MaskingRoster roster, RosterFromWire(wire.nodes(), wire.threshold()));
  return ShareKeysTask{run, wire.round(), wire.threshold(), std::move(roster)};
}

absl::StatusOr<FederationTask> UnmaskFromWire(const std::string& run, const v1::UnmaskTask& wire) {
  RETURN_IF_ERROR(CheckRound(run, wire.round()));
  ASSIGN_OR_RETURN(std::vector<std::string> survivors, NamesFromWire("survivors", wire.survivors()));
  ASSIGN_OR_RETURN(std::vector<std::string> dropped, NamesFromWire("dropped", wire.dropped()));
  return UnmaskTask{run, wire.round(), std::move(survivors), std::move(dropped)};
}

void RevealToWire(const std::vector<privacy::RevealedShare>& shares, Repeated<v1::RevealedShare>& wire) {
  for (const privacy::RevealedShare& share : shares) {
    v1::RevealedShare& each = *wire.Add();
    each.set_of(share.of);
    each.set_share(parameters::BytesOf(share.share));
  }
}

}  // namespace

absl::StatusOr<FederationTask> TaskFromWire(const v1::ParticipateResponse& wire) {
  switch (wire.task_case()) {
    case v1::ParticipateResponse::kTrain:
      return TrainFromWire(wire.run(), wire.train());
    case v1::ParticipateResponse::kAdvertiseKeys:
      RETURN_IF_ERROR(CheckRound(wire.run(), wire.advertise_keys().round()));
      return AdvertiseKeysTask{wire.run(), wire.advertise_keys().round()};
    case v1::ParticipateResponse::kShareKeys:
      return ShareKeysFromWire(wire.run(), wire.share_keys());
    case v1::ParticipateResponse::kUnmask:
      return UnmaskFromWire(wire.run(), wire.unmask());
    default:
      return absl::UnimplementedError("a task that this node does not know");
  }
}

void KeysToWire(const privacy::MaskingKeys& keys, v1::AdvertiseKeysRequest& wire) {
  wire.set_cipher_key(parameters::BytesOf(keys.cipher_key));
  wire.set_mask_key(parameters::BytesOf(keys.mask_key));
  wire.set_seed_digest(parameters::BytesOf(keys.seed_digest));
}

void SharesToWire(const std::vector<privacy::SealedShare>& shares, v1::ShareKeysRequest& wire) {
  for (const privacy::SealedShare& share : shares) ShareToWire(share, *wire.add_shares());
}

void RevealedToWire(const privacy::RevealedShares& shares, v1::UnmaskRequest& wire) {
  RevealToWire(shares.seeds, *wire.mutable_seed_shares());
  RevealToWire(shares.keys, *wire.mutable_key_shares());
}

}  // namespace tributary::wire
