#include "core/privacy/masking.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tributary::privacy {

std::string Bind(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += fmt::format("{}:{}", part.size(), part);
  return text;
}

absl::StatusOr<Key32> PairMaskKey(const Key32& private_key, const Key32& peer_public_key,
                                  std::string_view context) {
  absl::StatusOr<Key32> secret = X25519Agree(private_key, peer_public_key);
  if (!secret.ok()) return secret;
  return DeriveKey(*secret, Bind({"pair mask", context}));
}

absl::StatusOr<Key32> SelfMaskKey(const Key32& seed, std::string_view context) {
  return DeriveKey(seed, Bind({"self mask", context}));
}

absl::StatusOr<Key32> SeedDigest(const Key32& seed, std::string_view context, std::string_view node) {
  return DeriveKey(seed, Bind({"seed digest", context, node}));
}

absl::StatusOr<Key32> ShareDigest(SecretKind kind, const Key32& share, std::string_view context,
                                  std::string_view from, std::string_view to) {
  const std::string_view of = kind == SecretKind::kSeed ? "seed share digest" : "key share digest";
  return DeriveKey(share, Bind({of, context, from, to}));
}

absl::Status CheckKeys(const MaskingKeys& keys) {
  const absl::StatusOr<Key32> own = RandomKey();
  if (!own.ok()) return own.status();
  for (const Key32& key : {keys.cipher_key, keys.mask_key}) {
    if (const auto secret = X25519Agree(*own, key); !secret.ok()) return secret.status();
  }
  return absl::OkStatus();
}

std::size_t PositionIn(std::span<const MaskingKeys> roster, std::string_view node) {
  const auto found = std::ranges::find(roster, node, &MaskingKeys::node);
  return static_cast<std::size_t>(found - roster.begin());
}

std::string MaskingContext(std::string_view run, std::uint32_t round) {
  return fmt::format("{}/{}", run, round);
}

absl::Status ValidateRoster(std::span<const MaskingKeys> roster, std::size_t threshold) {
  if (roster.size() < 2 || roster.size() > kMaxMaskingNodes) {
    return absl::InvalidArgumentError(
        fmt::format("{} nodes, expected 2 to {}", roster.size(), kMaxMaskingNodes));
  }
  if (threshold <= roster.size() / 2 || threshold > roster.size()) {
    return absl::InvalidArgumentError(
        fmt::format("threshold {}, expected more than half of {} nodes", threshold, roster.size()));
  }
  std::set<Key32> keys;
  for (std::size_t i = 0; i < roster.size(); ++i) {
    if (roster[i].node.empty() || (i > 0 && roster[i].node <= roster[i - 1].node)) {
      return absl::InvalidArgumentError("the roster is not in ascending order of its names");
    }
    if (!keys.insert(roster[i].cipher_key).second || !keys.insert(roster[i].mask_key).second) {
      return absl::InvalidArgumentError(fmt::format("{} has a key that comes twice", roster[i].node));
    }
  }
  return absl::OkStatus();
}

}  // namespace tributary::privacy
