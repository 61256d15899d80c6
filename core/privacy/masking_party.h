// A node's secrets over the rounds of secure aggregation.
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

// Keeps the MaskingNode of one round; asked again for a step, it gives the same answer. Nothing is written
// down: a process that restarts has lost the keys of its round and takes part from the next one on. One
// thread at a time.
//
// Errors of every step besides MaskingNode's: NotFound if this node has no keys of that round.
class MaskingParty {
 public:
  explicit MaskingParty(std::string node) : node_(std::move(node)) {}

  // Begins a round; what was kept of another one is forgotten.
  absl::StatusOr<MaskingKeys> Keys(std::string_view run, std::uint32_t round);
  absl::StatusOr<std::vector<SealedShare>> Share(std::string_view run, std::uint32_t round,
                                                 const MaskingRoster& roster, std::size_t threshold);
  // Once: the same mask over other words would tell their difference.
  absl::Status Mask(std::string_view run, std::uint32_t round, std::span<const SealedShare> shares,
                    std::span<std::int32_t> words);
  absl::StatusOr<RevealedShares> Reveal(std::string_view run, std::uint32_t round,
                                        std::span<const std::string> survivors,
                                        std::span<const std::string> dropped);

  // Whose shares could not be used in the present round.
  std::vector<std::string> unusable() const;

  bool HasKeys(std::string_view run, std::uint32_t round) const;
  // Whether it has also shared them, and not masked yet.
  bool CanMask(std::string_view run, std::uint32_t round) const;

 private:
  struct Round {
    std::string run;
    std::uint32_t number;
    std::unique_ptr<MaskingNode> node;
    // Since Share.
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
