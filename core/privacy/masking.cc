#include "core/privacy/masking.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/status/macros.h"

namespace tributary::privacy {

std::string Bind(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += fmt::format("{}:{}", part.size(), part);
  return text;
}

absl::StatusOr<Key32> PairMaskKey(const Key32& private_key, const Key32& peer_public_key,
                                  std::string_view context) {
  ASSIGN_OR_RETURN(const Key32 secret, X25519Agree(private_key, peer_public_key));
  return DeriveKey(secret, Bind({"pair mask", context}));
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

std::size_t PositionIn(std::span<const MaskingKeys> roster, std::string_view node) {
  const auto found = std::ranges::find(roster, node, &MaskingKeys::node);
  return static_cast<std::size_t>(found - roster.begin());
}

}  // namespace tributary::privacy
