// What node and aggregator both compute in secure aggregation.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/privacy/secure_aggregation.h"

namespace tributary::privacy {

// Joins the parts, each after its length, so that no two lists give the same text.
std::string Bind(std::initializer_list<std::string_view> parts);

// The key of the mask that two nodes share, from the private mask key of one and the public mask key of the
// other.
absl::StatusOr<Key32> PairMaskKey(const Key32& private_key, const Key32& peer_public_key,
                                  std::string_view context);

// The key of a node's own mask.
absl::StatusOr<Key32> SelfMaskKey(const Key32& seed, std::string_view context);

// Digests that a node publishes before it reveals a secret: of its seed, and of each share that it gives out.
// Secrets are 32 random bytes, so a digest reveals nothing about them.
absl::StatusOr<Key32> SeedDigest(const Key32& seed, std::string_view context, std::string_view node);
enum class SecretKind { kSeed, kKey };
absl::StatusOr<Key32> ShareDigest(SecretKind kind, const Key32& share, std::string_view context,
                                  std::string_view from, std::string_view to);

// The position of a name in the roster, from 0; the roster's size if it is absent.
std::size_t PositionIn(std::span<const MaskingKeys> roster, std::string_view node);

}  // namespace tributary::privacy
