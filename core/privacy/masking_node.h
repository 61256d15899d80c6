// A node's side of secure aggregation (secure_aggregation.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/secure_aggregation.h"

namespace tributary::privacy {

// Both secrets of one node as shared with one other, or the digests of these shares.
struct SharePair {
  Key32 seed{};
  Key32 key{};
};

// A node's part in one round. Draws its secrets from the system's entropy and never reveals both shares of
// one node. One thread at a time. `context` is MaskingContext.
class MaskingNode {
 public:
  // Errors: Internal if OpenSSL fails.
  static absl::StatusOr<std::unique_ptr<MaskingNode>> Create(std::string node, std::string context);
  ~MaskingNode();
  MaskingNode(const MaskingNode&) = delete;
  MaskingNode& operator=(const MaskingNode&) = delete;

  const MaskingKeys& keys() const { return keys_; }

  // A sealed share for each other node of the roster; the same again for the same arguments. Errors:
  // InvalidArgument for a roster that is not valid, lacks this node or has other keys for it, a threshold of
  // at most half of the nodes, or a key that X25519 refuses; FailedPrecondition after shares for another
  // roster.
  absl::StatusOr<std::vector<SealedShare>> Share(const MaskingRoster& roster, std::size_t threshold);

  // Whether it has shared its keys and not masked yet.
  bool can_mask() const { return stage_ == Stage::kShared; }

  // Opens the shares for this node and masks `words` in place with every node that has sent one, and with its
  // own mask. Discards a share that does not open or does not match its digest: only its sender loses by
  // that. Errors: InvalidArgument for a share from an unknown node, two from one, or fewer than threshold −
  // 1; FailedPrecondition out of order and for a second call: the same mask over other words would reveal
  // their difference.
  absl::Status Mask(std::span<const SealedShare> shares, std::span<std::int32_t> words);
  // Senders of discarded shares, ascending.
  std::vector<std::string> unusable() const;

  // Reveals once per round, and leaves out shares that it does not hold. Errors: InvalidArgument for a name
  // in both lists, twice, or that this node did not mask with, this node not among the survivors, or fewer
  // survivors than the threshold; FailedPrecondition out of order and for a second call with other lists.
  absl::StatusOr<RevealedShares> Reveal(std::span<const std::string> survivors,
                                        std::span<const std::string> dropped);

 private:
  enum class Stage { kCreated, kShared, kMasked };

  MaskingNode(std::string node, std::string context) : context_(std::move(context)), keys_{std::move(node)} {}
  absl::StatusOr<SealedShare> SealFor(const MaskingKeys& peer, const SharePair& shares) const;
  absl::StatusOr<Key32> SealingKey(std::string_view from, std::string_view to, const Key32& peer_key) const;
  absl::Status OpenShare(const SealedShare& share);
  absl::Status AddMasks(std::span<std::int32_t> words) const;

  const std::string context_;
  MaskingKeys keys_;
  Key32 cipher_private_{};
  Key32 mask_private_{};
  Key32 seed_{};
  Stage stage_ = Stage::kCreated;
  MaskingRoster roster_;
  std::size_t threshold_ = 0;
  std::vector<SealedShare> sealed_;
  std::map<std::string, SharePair, std::less<>> held_;  // the good shares, its own included
  std::set<std::string, std::less<>> peers_;            // that are masked with: whose share came, good or not
  std::optional<std::pair<std::set<std::string>, std::set<std::string>>> revealed_;
};

// Keeps the MaskingNode of one round, so that it repeats its answer when asked again for a step. It writes
// nothing to disk: a restart loses the keys of the round, and the node takes part from the next one on. One
// thread at a time.
class MaskingParty {
 public:
  explicit MaskingParty(std::string node) : node_(std::move(node)) {}

  // Begins a round and forgets the one before.
  absl::StatusOr<MaskingKeys> Keys(std::string_view run, std::uint32_t round);
  // The node in that round. NotFound: it has no keys of that round.
  absl::StatusOr<MaskingNode*> Find(std::string_view run, std::uint32_t round) const;

 private:
  const std::string node_;
  std::string run_;
  std::uint32_t round_ = 0;
  std::unique_ptr<MaskingNode> present_;  // of that round; null before the first one
};

}  // namespace tributary::privacy
