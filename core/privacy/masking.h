// What node and aggregator compute alike in secure aggregation.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/privacy/secure_aggregation.h"

namespace tributary::privacy {

// The parts, each led by its length: no two lists give the same text.
std::string Bind(std::initializer_list<std::string_view> parts);

// The key of the mask that two nodes share: one's private and the other's public mask key.
absl::StatusOr<Key32> PairMaskKey(const Key32& private_key, const Key32& peer_public_key,
                                  std::string_view context);

// The key of the mask that a node has of its own.
absl::StatusOr<Key32> SelfMaskKey(const Key32& seed, std::string_view context);

// What a node says of a secret before anybody sees it: of its seed, and of a share that it gives out. Secrets
// are 32 random bytes, so that this tells nothing of them.
enum class SecretKind { kSeed, kKey };
absl::StatusOr<Key32> SeedDigest(const Key32& seed, std::string_view context, std::string_view node);
absl::StatusOr<Key32> ShareDigest(SecretKind kind, const Key32& share, std::string_view context,
                                  std::string_view from, std::string_view to);

// The position of a name in the roster, from 0; the roster's size if it is not there.
std::size_t PositionIn(std::span<const MaskingKeys> roster, std::string_view node);

}  // namespace tributary::privacy
