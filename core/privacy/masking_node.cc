#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/privacy/masking.h"
#include "core/privacy/secure_aggregation.h"
#include "core/privacy/shamir.h"

namespace tributary::privacy {
namespace {

// Both secrets of one node, as shared with one other.
struct SharePair {
  Key32 seed{};
  Key32 key{};
};

std::string Pack(const SharePair& shares) {
  std::string text(2 * sizeof(Key32), '\0');
  std::memcpy(text.data(), shares.seed.data(), sizeof(Key32));
  std::memcpy(text.data() + sizeof(Key32), shares.key.data(), sizeof(Key32));
  return text;
}

absl::StatusOr<SharePair> Unpack(std::string_view text) {
  if (text.size() != 2 * sizeof(Key32)) return absl::DataLossError("not two shares");
  SharePair shares;
  std::memcpy(shares.seed.data(), text.data(), sizeof(Key32));
  std::memcpy(shares.key.data(), text.data() + sizeof(Key32), sizeof(Key32));
  return shares;
}

}  // namespace

class MaskingNode::Impl {
 public:
  ~Impl() {
    for (Key32* secret : {&cipher_private, &mask_private, &seed})
      OPENSSL_cleanse(secret->data(), secret->size());
  }

  absl::StatusOr<Key32> SealingKey(std::string_view from, std::string_view to, const Key32& peer_key) const {
    absl::StatusOr<Key32> secret = X25519Agree(cipher_private, peer_key);
    if (!secret.ok()) return secret;
    return DeriveKey(*secret, Bind({"share", context, from, to}));
  }

  // Adds DataLoss to the caller's errors: the sender has spoiled the share.
  absl::Status OpenShare(const SealedShare& share) {
    const std::size_t sender = PositionIn(roster, share.from);
    if (share.to != keys.node || share.from == keys.node || sender == roster.size()) {
      return absl::InvalidArgumentError(
          fmt::format("a share from {} to {} arrived at {}", share.from, share.to, keys.node));
    }
    if (!peers.insert(share.from).second)
      return absl::InvalidArgumentError(fmt::format("two shares from {}", share.from));
    const absl::StatusOr<Key32> key = SealingKey(share.from, keys.node, roster[sender].cipher_key);
    if (!key.ok()) return key.status();
    const absl::StatusOr<std::string> plain =
        Open(*key, Bind({context, share.from, share.to}), share.ciphertext);
    if (!plain.ok()) {
      return absl::DataLossError(
          fmt::format("the share from {}: {}", share.from, std::string(plain.status().message())));
    }
    const absl::StatusOr<SharePair> pair = Unpack(*plain);
    if (!pair.ok()) {
      return absl::DataLossError(
          fmt::format("the share from {}: {}", share.from, std::string(pair.status().message())));
    }
    const auto seed_digest = ShareDigest(SecretKind::kSeed, pair->seed, context, share.from, share.to);
    const auto key_digest = ShareDigest(SecretKind::kKey, pair->key, context, share.from, share.to);
    if (!seed_digest.ok()) return seed_digest.status();
    if (!key_digest.ok()) return key_digest.status();
    if (*seed_digest != share.seed_digest || *key_digest != share.key_digest) {
      return absl::DataLossError(fmt::format("the share from {} is not what its digest says", share.from));
    }
    held[share.from] = *pair;
    return absl::OkStatus();
  }

  // Masks with every node that has sent a share. The node at the lower position adds, the one at the higher
  // subtracts.
  absl::Status AddMasks(std::span<std::int32_t> words) const {
    const std::size_t own = PositionIn(roster, keys.node);
    for (std::size_t peer = 0; peer < roster.size(); ++peer) {
      if (peer != own && !peers.contains(roster[peer].node)) continue;
      const absl::StatusOr<Key32> key = peer == own
                                            ? SelfMaskKey(seed, context)
                                            : PairMaskKey(mask_private, roster[peer].mask_key, context);
      if (!key.ok()) return key.status();
      if (absl::Status status = AddKeystream(*key, 0, own > peer, words); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  enum class Stage { kCreated, kShared, kMasked };

  std::string context;
  MaskingKeys keys;
  Key32 cipher_private{};
  Key32 mask_private{};
  Key32 seed{};
  Stage stage = Stage::kCreated;
  MaskingRoster roster;
  std::size_t threshold = 0;
  std::map<std::string, SharePair, std::less<>> held;  // the nodes masked with, this one included: their
                                                       // share came, usable or not
  std::set<std::string, std::less<>> peers;            // that are masked with: whose share came, good or not
  std::optional<std::pair<std::set<std::string>, std::set<std::string>>> revealed;
};

MaskingNode::MaskingNode(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MaskingNode::~MaskingNode() = default;

const MaskingKeys& MaskingNode::keys() const { return impl_->keys; }

absl::StatusOr<std::unique_ptr<MaskingNode>> MaskingNode::Create(std::string node, std::string context) {
  auto impl = std::make_unique<Impl>();
  impl->context = std::move(context);
  impl->keys.node = std::move(node);
  for (Key32* secret : {&impl->cipher_private, &impl->mask_private, &impl->seed}) {
    absl::StatusOr<Key32> random = RandomKey();
    if (!random.ok()) return random.status();
    *secret = *random;
  }
  const absl::StatusOr<Key32> cipher_key = X25519PublicKey(impl->cipher_private);
  const absl::StatusOr<Key32> mask_key = X25519PublicKey(impl->mask_private);
  if (!cipher_key.ok()) return cipher_key.status();
  if (!mask_key.ok()) return mask_key.status();
  impl->keys.cipher_key = *cipher_key;
  impl->keys.mask_key = *mask_key;
  const absl::StatusOr<Key32> digest = SeedDigest(impl->seed, impl->context, impl->keys.node);
  if (!digest.ok()) return digest.status();
  impl->keys.seed_digest = *digest;
  return std::unique_ptr<MaskingNode>(new MaskingNode(std::move(impl)));
}

absl::StatusOr<std::vector<SealedShare>> MaskingNode::Share(const MaskingRoster& roster,
                                                            std::size_t threshold) {
  Impl& self = *impl_;
  if (self.stage != Impl::Stage::kCreated)
    return absl::FailedPreconditionError("the shares were sent already");
  if (absl::Status status = ValidateRoster(roster, threshold); !status.ok()) return status;
  const std::size_t own = PositionIn(roster, self.keys.node);
  if (own == roster.size() || roster[own].cipher_key != self.keys.cipher_key ||
      roster[own].mask_key != self.keys.mask_key) {
    return absl::InvalidArgumentError(
        fmt::format("the roster lacks {} or has other keys for it", self.keys.node));
  }
  const auto seeds = SplitSecret(self.seed, threshold, roster.size());
  const auto keys = SplitSecret(self.mask_private, threshold, roster.size());
  if (!seeds.ok()) return seeds.status();
  if (!keys.ok()) return keys.status();
  std::vector<SealedShare> sealed;
  for (std::size_t i = 0; i < roster.size(); ++i) {
    const SharePair pair = {(*seeds)[i].value, (*keys)[i].value};
    if (i == own) {
      self.held[self.keys.node] = pair;
      continue;
    }
    const absl::StatusOr<Key32> key = self.SealingKey(self.keys.node, roster[i].node, roster[i].cipher_key);
    if (!key.ok()) {
      return absl::Status(key.status().code(),
                          fmt::format("{}: {}", roster[i].node, std::string(key.status().message())));
    }
    absl::StatusOr<std::string> text =
        Seal(*key, Bind({self.context, self.keys.node, roster[i].node}), Pack(pair));
    if (!text.ok()) return text.status();
    const auto seed_digest =
        ShareDigest(SecretKind::kSeed, pair.seed, self.context, self.keys.node, roster[i].node);
    const auto key_digest =
        ShareDigest(SecretKind::kKey, pair.key, self.context, self.keys.node, roster[i].node);
    if (!seed_digest.ok()) return seed_digest.status();
    if (!key_digest.ok()) return key_digest.status();
    sealed.push_back({self.keys.node, roster[i].node, *std::move(text), *seed_digest, *key_digest});
  }
  self.roster = roster;
  self.threshold = threshold;
  self.stage = Impl::Stage::kShared;
  return sealed;
}

absl::Status MaskingNode::Mask(std::span<const SealedShare> shares, std::span<std::int32_t> words) {
  Impl& self = *impl_;
  if (self.stage != Impl::Stage::kShared)
    return absl::FailedPreconditionError("masks follow the shares, once");
  const std::map<std::string, SharePair, std::less<>> own = self.held;
  absl::Status status;
  for (const SealedShare& share : shares) {
    status = self.OpenShare(share);
    // Mask even without that share: a node that spoils its shares must not keep others out.
    if (absl::IsDataLoss(status)) status = absl::OkStatus();
    if (!status.ok()) break;
  }
  if (status.ok() && self.peers.size() + 1 < self.threshold) {
    status = absl::InvalidArgumentError(
        fmt::format("{} nodes have shared, {} are needed", self.peers.size() + 1, self.threshold));
  }
  if (status.ok()) status = self.AddMasks(words);
  if (!status.ok()) {
    self.held = own;
    self.peers.clear();
    return status;
  }
  self.stage = Impl::Stage::kMasked;
  return absl::OkStatus();
}

std::vector<std::string> MaskingNode::unusable() const {
  std::vector<std::string> names;
  std::ranges::copy_if(impl_->peers, std::back_inserter(names),
                       [this](const std::string& peer) { return !impl_->held.contains(peer); });
  return names;
}

absl::StatusOr<RevealedShares> MaskingNode::Reveal(std::span<const std::string> survivors,
                                                   std::span<const std::string> dropped) {
  Impl& self = *impl_;
  if (self.stage != Impl::Stage::kMasked) return absl::FailedPreconditionError("nothing has been masked");
  auto lists = std::make_pair(std::set<std::string>(survivors.begin(), survivors.end()),
                              std::set<std::string>(dropped.begin(), dropped.end()));
  if (self.revealed && *self.revealed != lists) {
    return absl::FailedPreconditionError("shares of this round have been revealed for other lists of nodes");
  }
  std::set<std::string> all;
  for (const std::span<const std::string> list : {survivors, dropped}) {
    for (const std::string& node : list) {
      if (!all.insert(node).second) return absl::InvalidArgumentError(fmt::format("{} comes twice", node));
      if (node != self.keys.node && !self.peers.contains(node)) {
        return absl::InvalidArgumentError(fmt::format("{} is not a node that was masked with", node));
      }
    }
  }
  if (!lists.first.contains(self.keys.node) || survivors.size() < self.threshold) {
    return absl::InvalidArgumentError(fmt::format("{} survivors, expected {} and {} among them",
                                                  survivors.size(), self.threshold, self.keys.node));
  }
  RevealedShares shares;
  shares.from = self.keys.node;
  for (const auto& [node, held] : self.held) {
    if (lists.first.contains(node)) shares.seeds.push_back({node, held.seed});
    if (lists.second.contains(node)) shares.keys.push_back({node, held.key});
  }
  self.revealed = std::move(lists);
  return shares;
}

}  // namespace tributary::privacy
