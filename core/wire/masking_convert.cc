#include "core/wire/masking_convert.h"

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>

namespace tributary::wire {
namespace {

constexpr std::size_t kMaxNodeName = 128;

template <class Message>
using Repeated = google::protobuf::RepeatedPtrField<Message>;

absl::Status CheckMaskingName(std::string_view field, const std::string& name) {
  if (!name.empty() && name.size() <= kMaxNodeName) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} must be a name of 1 … {} bytes, found {}", field, kMaxNodeName, name.size()));
}

absl::Status CheckMaskingCount(std::string_view field, int count) {
  if (static_cast<std::size_t>(count) <= privacy::kMaxMaskingNodes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} must be at most {}, found {}", field, privacy::kMaxMaskingNodes, count));
}

absl::StatusOr<privacy::Key32> KeyFromWire(std::string_view field, const std::string& bytes) {
  privacy::Key32 key{};
  if (bytes.size() != key.size()) {
    return absl::InvalidArgumentError(fmt::format("{} must have 32 bytes, found {}", field, bytes.size()));
  }
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

std::string BytesOf(const privacy::Key32& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

absl::StatusOr<privacy::MaskingRoster> RosterFromWire(const Repeated<v1::NodeKeys>& wire,
                                                      std::size_t threshold) {
  if (absl::Status status = CheckMaskingCount("nodes", wire.size()); !status.ok()) return status;
  privacy::MaskingRoster roster;
  for (const v1::NodeKeys& each : wire) {
    if (absl::Status status = CheckMaskingName("nodes.node", each.node()); !status.ok()) return status;
    const absl::StatusOr<privacy::Key32> cipher = KeyFromWire("nodes.cipher_key", each.cipher_key());
    if (!cipher.ok()) return cipher.status();
    const absl::StatusOr<privacy::Key32> mask = KeyFromWire("nodes.mask_key", each.mask_key());
    if (!mask.ok()) return mask.status();
    roster.push_back({each.node(), *cipher, *mask, {}});
  }
  if (absl::Status status = privacy::ValidateRoster(roster, threshold); !status.ok()) {
    return absl::InvalidArgumentError(fmt::format("nodes: {}", std::string(status.message())));
  }
  return roster;
}

absl::Status NamesFromWire(std::string_view field, const Repeated<std::string>& wire,
                           std::vector<std::string>& names) {
  absl::Status status = CheckMaskingCount(field, wire.size());
  for (const std::string& name : wire) {
    if (status.ok()) status = CheckMaskingName(field, name);
  }
  if (status.ok()) names.assign(wire.begin(), wire.end());
  return status;
}

void RevealToWire(const std::vector<privacy::RevealedShare>& shares, Repeated<v1::RevealedShare>& wire) {
  for (const privacy::RevealedShare& share : shares) {
    v1::RevealedShare& each = *wire.Add();
    each.set_of(share.of);
    each.set_share(BytesOf(share.share));
  }
}

}  // namespace

absl::Status ShareKeysFromWire(const v1::ShareKeysTask& wire, ShareKeysTask& task) {
  absl::StatusOr<privacy::MaskingRoster> roster = RosterFromWire(wire.nodes(), wire.threshold());
  if (!roster.ok()) return roster.status();
  task.threshold = wire.threshold();
  task.nodes = *std::move(roster);
  return absl::OkStatus();
}

absl::Status UnmaskFromWire(const v1::UnmaskTask& wire, UnmaskTask& task) {
  absl::Status status = NamesFromWire("survivors", wire.survivors(), task.survivors);
  if (status.ok()) status = NamesFromWire("dropped", wire.dropped(), task.dropped);
  return status;
}

absl::StatusOr<MaskingTask> MaskingFromWire(const v1::MaskingTask& wire) {
  absl::StatusOr<privacy::MaskingRoster> roster = RosterFromWire(wire.nodes(), wire.threshold());
  if (!roster.ok()) return roster.status();
  MaskingTask task;
  task.threshold = wire.threshold();
  task.nodes = *std::move(roster);
  if (absl::Status status = CheckMaskingCount("shares", wire.shares_size()); !status.ok()) return status;
  for (const v1::EncryptedShare& share : wire.shares()) {
    absl::Status status = CheckMaskingName("shares.from", share.from());
    if (status.ok()) status = CheckMaskingName("shares.to", share.to());
    if (!status.ok()) return status;
    if (share.ciphertext().size() > kMaxSealedShareBytes) {
      return absl::InvalidArgumentError(fmt::format("shares.ciphertext must have at most {} bytes, found {}",
                                                    kMaxSealedShareBytes, share.ciphertext().size()));
    }
    const absl::StatusOr<privacy::Key32> seed = KeyFromWire("shares.seed_digest", share.seed_digest());
    if (!seed.ok()) return seed.status();
    const absl::StatusOr<privacy::Key32> key = KeyFromWire("shares.key_digest", share.key_digest());
    if (!key.ok()) return key.status();
    task.shares.push_back({share.from(), share.to(), share.ciphertext(), *seed, *key});
  }
  return task;
}

void KeysToWire(const privacy::MaskingKeys& keys, v1::AdvertiseKeysRequest& wire) {
  wire.set_cipher_key(BytesOf(keys.cipher_key));
  wire.set_mask_key(BytesOf(keys.mask_key));
  wire.set_seed_digest(BytesOf(keys.seed_digest));
}

void SharesToWire(const std::vector<privacy::SealedShare>& shares, v1::ShareKeysRequest& wire) {
  for (const privacy::SealedShare& share : shares) {
    v1::EncryptedShare& each = *wire.add_shares();
    each.set_from(share.from);
    each.set_to(share.to);
    each.set_ciphertext(share.ciphertext);
    each.set_seed_digest(BytesOf(share.seed_digest));
    each.set_key_digest(BytesOf(share.key_digest));
  }
}

void RevealedToWire(const privacy::RevealedShares& shares, v1::UnmaskRequest& wire) {
  RevealToWire(shares.seeds, *wire.mutable_seed_shares());
  RevealToWire(shares.keys, *wire.mutable_key_shares());
}

}  // namespace tributary::wire
