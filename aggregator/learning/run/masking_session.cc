#include "aggregator/learning/run/masking_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/status/macros.h"

namespace tributary::learning {

absl::Status MaskingSession::AddKeys(const privacy::MaskingKeys& keys) {
  if (keys_.size() >= privacy::kMaxMaskingNodes && !keys_.contains(keys.node)) {
    return absl::InvalidArgumentError(
        fmt::format("at most {} nodes can mask together", privacy::kMaxMaskingNodes));
  }
  RETURN_IF_ERROR(privacy::CheckKeys(keys));
  const auto taken = [&](const auto& other) {
    return other.second.node != keys.node &&
           (other.second.cipher_key == keys.cipher_key || other.second.mask_key == keys.mask_key ||
            other.second.cipher_key == keys.mask_key || other.second.mask_key == keys.cipher_key);
  };
  if (keys.cipher_key == keys.mask_key || std::ranges::any_of(keys_, taken)) {
    return absl::InvalidArgumentError("cipher_key, mask_key: every key is to be another one");
  }
  keys_.try_emplace(keys.node, keys);
  return absl::OkStatus();
}

bool MaskingSession::HasTaken(RoundStep step, std::string_view node) const {
  return (step == RoundStep::kKeys && keys_.contains(node)) ||
         (step == RoundStep::kShares && shares_.contains(node)) ||
         (step == RoundStep::kUnmasking && revealed_.contains(node));
}

absl::Status MaskingSession::Take(MaskingMessage message) {
  if (auto* keys = std::get_if<privacy::MaskingKeys>(&message.content)) return AddKeys(*keys);
  if (auto* shares = std::get_if<std::vector<privacy::SealedShare>>(&message.content)) {
    return AddShares(message.node, std::move(*shares));
  }
  return AddRevealed(std::get<privacy::RevealedShares>(message.content));
}

absl::Status MaskingSession::Begin(RoundStep step, std::vector<std::string> nodes) {
  switch (step) {
    case RoundStep::kShares:
      for (const std::string& node : nodes) {
        if (const auto found = keys_.find(node); found != keys_.end()) roster_.push_back(found->second);
      }
      threshold_ = MaskingThreshold(nodes.size());
      return privacy::ValidateRoster(roster_, threshold_);
    case RoundStep::kTraining:
      masked_ = std::move(nodes);
      break;
    case RoundStep::kUnmasking:
      survivors_ = std::move(nodes);
      std::ranges::set_difference(masked_, survivors_, std::back_inserter(dropped_));
      for (const std::string& node : masked_) shares_of_[node] = 0;
      break;
    case RoundStep::kKeys:
    case RoundStep::kClosing:
      break;
  }
  return absl::OkStatus();
}

absl::Status MaskingSession::AddShares(std::string_view from, std::vector<privacy::SealedShare>&& shares) {
  std::set<std::string_view> receivers;
  for (const privacy::SealedShare& share : shares) {
    const bool known = std::ranges::find(roster_, share.to, &privacy::MaskingKeys::node) != roster_.end();
    if (share.from != from || share.to == from || !known || !receivers.insert(share.to).second) {
      return absl::InvalidArgumentError(
          fmt::format("shares: from \"{}\" to \"{}\" is not expected here", share.from, share.to));
    }
    if (share.ciphertext.size() > privacy::kMaxSealedShareBytes) {
      return absl::InvalidArgumentError(fmt::format("shares.ciphertext: {} bytes, at most {} are allowed",
                                                    share.ciphertext.size(), privacy::kMaxSealedShareBytes));
    }
  }
  if (receivers.size() + 1 != roster_.size()) {
    return absl::InvalidArgumentError(fmt::format(
        "shares: {} of them, expected one for each of {} other nodes", receivers.size(), roster_.size() - 1));
  }
  shares_.try_emplace(std::string(from), std::move(shares));
  return absl::OkStatus();
}

privacy::MaskingRoster MaskingSession::masked_roster() const {
  privacy::MaskingRoster roster;
  std::ranges::copy_if(roster_, std::back_inserter(roster), [this](const privacy::MaskingKeys& keys) {
    return std::ranges::binary_search(masked_, keys.node);
  });
  return roster;
}

std::vector<privacy::SealedShare> MaskingSession::SharesFor(std::string_view node) const {
  std::vector<privacy::SealedShare> result;
  for (const auto& [from, shares] : shares_) {
    if (!std::ranges::binary_search(masked_, from)) continue;
    std::ranges::copy_if(shares, std::back_inserter(result),
                         [node](const privacy::SealedShare& share) { return share.to == node; });
  }
  return result;
}

absl::Status MaskingSession::CheckAsked(const std::vector<privacy::RevealedShare>& shares,
                                        const std::vector<std::string>& owners) const {
  std::set<std::string_view> seen;
  for (const privacy::RevealedShare& share : shares) {
    if (!std::ranges::binary_search(owners, share.of) || !seen.insert(share.of).second) {
      return absl::InvalidArgumentError(
          fmt::format("a share of \"{}\" was not asked for, or comes twice", share.of));
    }
  }
  return absl::OkStatus();
}

const privacy::SealedShare* MaskingSession::Given(std::string_view from, std::string_view to) const {
  const auto sender = shares_.find(from);
  if (sender == shares_.end()) return nullptr;
  const auto found = std::ranges::find(sender->second, to, &privacy::SealedShare::to);
  return found == sender->second.end() ? nullptr : &*found;
}

absl::Status MaskingSession::AddRevealed(const privacy::RevealedShares& shares) {
  if (shares.seeds.size() > privacy::kMaxMaskingNodes || shares.keys.size() > privacy::kMaxMaskingNodes) {
    return absl::InvalidArgumentError("more shares than nodes");
  }
  RETURN_IF_ERROR(CheckAsked(shares.seeds, survivors_));
  RETURN_IF_ERROR(CheckAsked(shares.keys, dropped_));
  RETURN_IF_ERROR(privacy::CheckRevealed(
      shares, context_, [this](std::string_view from, std::string_view to) { return Given(from, to); }));
  if (revealed_.contains(shares.from)) return absl::OkStatus();
  for (const auto& list : {&shares.seeds, &shares.keys}) {
    for (const privacy::RevealedShare& share : *list) ++shares_of_[share.of];
  }
  revealed_.emplace(shares.from, shares);
  return absl::OkStatus();
}

bool MaskingSession::CanUnmask() const {
  return std::ranges::all_of(shares_of_, [this](const auto& each) { return each.second >= threshold_; });
}

std::vector<std::string> MaskingSession::revealers() const {
  std::vector<std::string> names;
  for (const auto& [node, shares] : revealed_) names.push_back(node);
  return names;
}

std::vector<std::string> MaskingSession::at_fault() const {
  std::vector<std::string> names;
  const std::size_t may_drop = roster_.size() - threshold_;
  for (const auto& [node, shares] : shares_of_) {
    const bool lacks = shares < threshold_ && revealed_.size() - shares > may_drop;
    if (lacks || node == liar_) names.push_back(node);
  }
  return names;
}

absl::Status MaskingSession::Unmask(Accumulator& sum) {
  std::vector<privacy::RevealedShares> revealed;
  for (const auto& [from, shares] : revealed_) revealed.push_back(shares);
  ASSIGN_OR_RETURN(
      const privacy::MaskRecovery recovery,
      privacy::MaskRecovery::Create(roster_, threshold_, context_, masked_, survivors_, revealed, &liar_));
  constexpr std::size_t kBlock = std::size_t{1} << 16;  // stays in the cache
  std::vector<std::int32_t> masks;
  std::vector<std::int64_t> words;
  for (std::size_t offset = 0; offset < sum.element_count(); offset += kBlock) {
    // Zero minus the masks, added.
    masks.assign(std::min(kBlock, sum.element_count() - offset), 0);
    RETURN_IF_ERROR(recovery.Subtract(offset, masks));
    words.assign(masks.begin(), masks.end());
    RETURN_IF_ERROR(sum.AddFixed(offset, words));
  }
  return absl::OkStatus();
}

}  // namespace tributary::learning
