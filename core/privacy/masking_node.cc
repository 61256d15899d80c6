#include "core/privacy/masking_node.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/privacy/cryptography.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::privacy {
namespace {

static_assert(sizeof(SharePair) == 2 * sizeof(Key32), "both shares are sealed as they lie in memory");

absl::StatusOr<SharePair> DigestsOf(const SharePair& shares, std::string_view context, std::string_view from,
                                    std::string_view to) {
  SharePair digests;
  ASSIGN_OR_RETURN(digests.seed, ShareDigest(SecretKind::kSeed, shares.seed, context, from, to));
  ASSIGN_OR_RETURN(digests.key, ShareDigest(SecretKind::kKey, shares.key, context, from, to));
  return digests;
}

}  // namespace

MaskingNode::~MaskingNode() {
  for (Key32* secret : {&cipher_private_, &mask_private_, &seed_}) {
    OPENSSL_cleanse(secret->data(), secret->size());
  }
}

absl::StatusOr<std::unique_ptr<MaskingNode>> MaskingNode::Create(std::string node, std::string context) {
  std::unique_ptr<MaskingNode> self(new MaskingNode(std::move(node), std::move(context)));
  for (Key32* secret : {&self->cipher_private_, &self->mask_private_, &self->seed_}) {
    ASSIGN_OR_RETURN(*secret, RandomKey());
  }
  ASSIGN_OR_RETURN(self->keys_.cipher_key, X25519PublicKey(self->cipher_private_));
  ASSIGN_OR_RETURN(self->keys_.mask_key, X25519PublicKey(self->mask_private_));
  ASSIGN_OR_RETURN(self->keys_.seed_digest, SeedDigest(self->seed_, self->context_, self->keys_.node));
  return self;
}

absl::StatusOr<Key32> MaskingNode::SealingKey(std::string_view from, std::string_view to,
                                              const Key32& peer_key) const {
  ASSIGN_OR_RETURN(const Key32 secret, X25519Agree(cipher_private_, peer_key));
  return DeriveKey(secret, Bind({"share", context_, from, to}));
}

absl::StatusOr<SealedShare> MaskingNode::SealFor(const MaskingKeys& peer, const SharePair& shares) const {
  ASSIGN_OR_RETURN(const Key32 key,
                   WithContext(peer.node, SealingKey(keys_.node, peer.node, peer.cipher_key)));
  const std::string_view plain(reinterpret_cast<const char*>(&shares), sizeof(shares));
  ASSIGN_OR_RETURN(std::string text, Seal(key, Bind({context_, keys_.node, peer.node}), plain));
  ASSIGN_OR_RETURN(const SharePair digests, DigestsOf(shares, context_, keys_.node, peer.node));
  return SealedShare{keys_.node, peer.node, std::move(text), digests.seed, digests.key};
}

absl::StatusOr<std::vector<SealedShare>> MaskingNode::Share(const MaskingRoster& roster,
                                                            std::size_t threshold) {
  if (stage_ != Stage::kCreated && roster == roster_ && threshold == threshold_) return sealed_;
  if (stage_ != Stage::kCreated) return absl::FailedPreconditionError("the shares were sent already");
  RETURN_IF_ERROR(ValidateRoster(roster, threshold));
  const std::size_t own = PositionIn(roster, keys_.node);
  if (own == roster.size() || roster[own].cipher_key != keys_.cipher_key ||
      roster[own].mask_key != keys_.mask_key) {
    return absl::InvalidArgumentError(
        fmt::format("the roster lacks {} or has other keys for it", keys_.node));
  }
  ASSIGN_OR_RETURN(const std::vector<ShamirShare> seeds, SplitSecret(seed_, threshold, roster.size()));
  ASSIGN_OR_RETURN(const std::vector<ShamirShare> keys, SplitSecret(mask_private_, threshold, roster.size()));
  std::vector<SealedShare> sealed;
  for (std::size_t i = 0; i < roster.size(); ++i) {
    if (i == own) continue;
    ASSIGN_OR_RETURN(SealedShare share, SealFor(roster[i], {seeds[i].value, keys[i].value}));
    sealed.push_back(std::move(share));
  }
  held_[keys_.node] = {seeds[own].value, keys[own].value};
  roster_ = roster;
  threshold_ = threshold;
  sealed_ = std::move(sealed);
  stage_ = Stage::kShared;
  return sealed_;
}

// Holds the share unless its sender has spoilt it. It masks with the sender even so: a node that spoils its
// shares must not keep others out.
absl::Status MaskingNode::OpenShare(const SealedShare& share) {
  const std::size_t sender = PositionIn(roster_, share.from);
  if (share.to != keys_.node || share.from == keys_.node || sender == roster_.size()) {
    return absl::InvalidArgumentError(
        fmt::format("a share from {} to {} arrived at {}", share.from, share.to, keys_.node));
  }
  if (!peers_.insert(share.from).second) {
    return absl::InvalidArgumentError(fmt::format("two shares from {}", share.from));
  }
  ASSIGN_OR_RETURN(const Key32 key, SealingKey(share.from, keys_.node, roster_[sender].cipher_key));
  const absl::StatusOr<std::string> plain =
      Open(key, Bind({context_, share.from, share.to}), share.ciphertext);
  SharePair shares;
  if (!plain.ok() || plain->size() != sizeof(shares)) return absl::OkStatus();
  std::memcpy(&shares, plain->data(), sizeof(shares));
  ASSIGN_OR_RETURN(const SharePair digests, DigestsOf(shares, context_, share.from, share.to));
  if (digests.seed == share.seed_digest && digests.key == share.key_digest) held_[share.from] = shares;
  return absl::OkStatus();
}

// Masks with every node that has sent a share. The node at the lower position adds, the one at the higher
// subtracts.
absl::Status MaskingNode::AddMasks(std::span<std::int32_t> words) const {
  const std::size_t own = PositionIn(roster_, keys_.node);
  for (std::size_t peer = 0; peer < roster_.size(); ++peer) {
    if (peer != own && !peers_.contains(roster_[peer].node)) continue;
    ASSIGN_OR_RETURN(const Key32 key, peer == own
                                          ? SelfMaskKey(seed_, context_)
                                          : PairMaskKey(mask_private_, roster_[peer].mask_key, context_));
    RETURN_IF_ERROR(AddKeystream(key, 0, own > peer, words));
  }
  return absl::OkStatus();
}

absl::Status MaskingNode::Mask(std::span<const SealedShare> shares, std::span<std::int32_t> words) {
  if (!can_mask()) return absl::FailedPreconditionError("masks follow the shares, once");
  const auto mask = [&]() -> absl::Status {
    for (const SealedShare& share : shares) RETURN_IF_ERROR(OpenShare(share));
    if (peers_.size() + 1 < threshold_) {
      return absl::InvalidArgumentError(
          fmt::format("{} nodes have shared, {} are needed", peers_.size() + 1, threshold_));
    }
    return AddMasks(words);
  };
  absl::Status status = mask();
  if (status.ok()) {
    stage_ = Stage::kMasked;
  } else {
    std::erase_if(held_, [this](const auto& held) { return held.first != keys_.node; });
    peers_.clear();
  }
  return status;
}

std::vector<std::string> MaskingNode::unusable() const {
  std::vector<std::string> names;
  std::ranges::copy_if(peers_, std::back_inserter(names),
                       [this](const std::string& peer) { return !held_.contains(peer); });
  return names;
}

absl::StatusOr<RevealedShares> MaskingNode::Reveal(std::span<const std::string> survivors,
                                                   std::span<const std::string> dropped) {
  if (stage_ != Stage::kMasked) return absl::FailedPreconditionError("nothing has been masked");
  auto lists = std::make_pair(std::set<std::string>(survivors.begin(), survivors.end()),
                              std::set<std::string>(dropped.begin(), dropped.end()));
  if (revealed_ && *revealed_ != lists) {
    return absl::FailedPreconditionError("shares of this round have been revealed for other lists of nodes");
  }
  std::set<std::string> all;
  for (const std::span<const std::string> list : {survivors, dropped}) {
    for (const std::string& node : list) {
      if (!all.insert(node).second) return absl::InvalidArgumentError(fmt::format("{} comes twice", node));
      if (node != keys_.node && !peers_.contains(node)) {
        return absl::InvalidArgumentError(fmt::format("{} is not a node that was masked with", node));
      }
    }
  }
  if (!lists.first.contains(keys_.node) || survivors.size() < threshold_) {
    return absl::InvalidArgumentError(
        fmt::format("{} survivors, expected {} and {} among them", survivors.size(), threshold_, keys_.node));
  }
  RevealedShares shares;
  shares.from = keys_.node;
  for (const auto& [node, held] : held_) {
    if (lists.first.contains(node)) shares.seeds.push_back({node, held.seed});
    if (lists.second.contains(node)) shares.keys.push_back({node, held.key});
  }
  revealed_ = std::move(lists);
  return shares;
}

absl::StatusOr<MaskingNode*> MaskingParty::Find(std::string_view run, std::uint32_t round) const {
  if (present_ != nullptr && run_ == run && round_ == round) return present_.get();
  return absl::NotFoundError(fmt::format("{} has no keys of round {} of {}", node_, round, run));
}

absl::StatusOr<MaskingKeys> MaskingParty::Keys(std::string_view run, std::uint32_t round) {
  if (const auto known = Find(run, round); known.ok()) return (*known)->keys();
  present_.reset();
  ASSIGN_OR_RETURN(present_, MaskingNode::Create(node_, MaskingContext(run, round)));
  run_ = run;
  round_ = round;
  return present_->keys();
}

}  // namespace tributary::privacy
