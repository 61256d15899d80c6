// A node's secrets through the rounds of secure aggregation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/secure_aggregation.h"

namespace tributary::privacy {

// Keeps the MaskingNode of one round and repeats its answer when asked again for a step. It writes nothing to
// disk: a restart loses the keys of the round, and the node takes part from the next one on. One thread at a
// time.
//
// Every step adds NotFound to MaskingNode's errors: this node has no keys of that round.
class MaskingParty {
 public:
  explicit MaskingParty(std::string node) : node_(std::move(node)) {}

  // Begins a round and forgets the one before.
  absl::StatusOr<MaskingKeys> Keys(std::string_view run, std::uint32_t round);
  absl::StatusOr<std::vector<SealedShare>> Share(std::string_view run, std::uint32_t round,
                                                 const MaskingRoster& roster, std::size_t threshold);
  // Masks once: the same mask over other words would reveal their difference.
  absl::Status Mask(std::string_view run, std::uint32_t round, std::span<const SealedShare> shares,
                    std::span<std::int32_t> words);
  absl::StatusOr<RevealedShares> Reveal(std::string_view run, std::uint32_t round,
                                        std::span<const std::string> survivors,
                                        std::span<const std::string> dropped);

  // Senders of unusable shares in the present round.
  std::vector<std::string> unusable() const;

  bool HasKeys(std::string_view run, std::uint32_t round) const;
  // Whether it has shared its keys and not masked yet.
  bool CanMask(std::string_view run, std::uint32_t round) const;

 private:
  struct Round {
    std::string run;
    std::uint32_t number;
    std::unique_ptr<MaskingNode> node;
    // Set by Share.
    MaskingRoster roster;
    std::size_t threshold;
    std::vector<SealedShare> sealed;
    bool masked;
  };
  absl::StatusOr<Round*> Find(std::string_view run, std::uint32_t round);

  const std::string node_;
  std::optional<Round> present_;
};

}  // namespace tributary::privacy
