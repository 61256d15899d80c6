#include "core/privacy/masking_party.h"

#include <fmt/format.h>

#include <utility>

namespace tributary::privacy {

absl::StatusOr<MaskingParty::Round*> MaskingParty::Find(std::string_view run, std::uint32_t round) {
  if (HasKeys(run, round)) return &*present_;
  return absl::NotFoundError(fmt::format("{} has no keys of round {} of {}", node_, round, run));
}

absl::StatusOr<MaskingKeys> MaskingParty::Keys(std::string_view run, std::uint32_t round) {
  if (const auto known = Find(run, round); known.ok()) return (*known)->node->keys();
  present_.reset();
  absl::StatusOr<std::unique_ptr<MaskingNode>> node = MaskingNode::Create(node_, MaskingContext(run, round));
  if (!node.ok()) return node.status();
  present_ = Round{std::string(run), round, *std::move(node), {}, 0, {}, false};
  return present_->node->keys();
}

absl::StatusOr<std::vector<SealedShare>> MaskingParty::Share(std::string_view run, std::uint32_t round,
                                                             const MaskingRoster& roster,
                                                             std::size_t threshold) {
  const absl::StatusOr<Round*> known = Find(run, round);
  if (!known.ok()) return known.status();
  Round& present = **known;
  if (!present.sealed.empty() && present.roster == roster && present.threshold == threshold) {
    return present.sealed;
  }
  absl::StatusOr<std::vector<SealedShare>> sealed = present.node->Share(roster, threshold);
  if (!sealed.ok()) return sealed;
  present.roster = roster;
  present.threshold = threshold;
  present.sealed = *sealed;
  return sealed;
}

absl::Status MaskingParty::Mask(std::string_view run, std::uint32_t round,
                                std::span<const SealedShare> shares, std::span<std::int32_t> words) {
  const absl::StatusOr<Round*> known = Find(run, round);
  if (!known.ok()) return known.status();
  absl::Status status = (*known)->node->Mask(shares, words);
  if (status.ok()) (*known)->masked = true;
  return status;
}

absl::StatusOr<RevealedShares> MaskingParty::Reveal(std::string_view run, std::uint32_t round,
                                                    std::span<const std::string> survivors,
                                                    std::span<const std::string> dropped) {
  const absl::StatusOr<Round*> known = Find(run, round);
  if (!known.ok()) return known.status();
  return (*known)->node->Reveal(survivors, dropped);
}

std::vector<std::string> MaskingParty::unusable() const {
  return present_ ? present_->node->unusable() : std::vector<std::string>();
}

bool MaskingParty::HasKeys(std::string_view run, std::uint32_t round) const {
  return present_ && present_->run == run && present_->number == round;
}

bool MaskingParty::CanMask(std::string_view run, std::uint32_t round) const {
  return HasKeys(run, round) && !present_->sealed.empty() && !present_->masked;
}

}  // namespace tributary::privacy
