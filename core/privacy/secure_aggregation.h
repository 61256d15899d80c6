// Secure aggregation: the aggregator learns the sum of the nodes' words, but no single node's words.
//
// Follows [Bonawitz17], against an aggregator that is curious but follows the protocol. Each node adds two
// kinds of masks to its words, modulo 2^32: one of its own, and one with every other node, which cancels in
// the sum. Nodes share the seed of the first and the key of the second by Shamir's scheme, t of n. With these
// shares the survivors remove the masks that dropped nodes left behind. OpenSSL does the cryptography:
// X25519, HKDF-SHA-256, AES-256-CTR, AES-256-GCM. masking_node.h has the node's side.
//
//   node                                       aggregator
//   MaskingNode::Create → keys() ────────────► collects keys, sends the roster
//   Share(roster) → sealed shares ───────────► passes each on to its receiver
//   Mask(roster, shares for me, words) ──────► adds the masked words
//   Reveal(survivors, dropped) → shares ─────► CheckRevealed, RecoverMask(…), subtracts it from the sum
//
// Against nodes that lie about shares, a node publishes digests: of its seed with its keys, of each share
// with its shares. So the aggregator detects a wrong share from any node when it is revealed, and needs only
// as many good ones. It also identifies a node whose own shares do not give the secret that it published. It
// cannot check what nodes add to the sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/cryptography.h"

namespace tributary::privacy {

// Shares are points of polynomials over GF(2^8), one abscissa per node: split larger groups into a tree.
inline constexpr std::size_t kMaxMaskingNodes = 255;

struct MaskingKeys {
  std::string node;
  Key32 cipher_key{};   // X25519 public key: agrees the keys that seal shares
  Key32 mask_key{};     // X25519 public key: agrees the pairwise masks
  Key32 seed_digest{};  // of the seed of its own mask; the aggregator's alone

  friend bool operator==(const MaskingKeys&, const MaskingKeys&) = default;
};

// A nonce, two shares of 32 bytes and a tag take less; there is room for another scheme.
inline constexpr std::size_t kMaxSealedShareBytes = 256;

// From one node to another: nonce, AES-256-GCM of both shares, tag. The aggregator cannot read it, but has a
// digest of each share.
struct SealedShare {
  std::string from;
  std::string to;
  std::string ciphertext;
  Key32 seed_digest{};
  Key32 key_digest{};
};

struct RevealedShare {
  std::string of;
  Key32 share{};
};
struct RevealedShares {
  std::string from;
  std::vector<RevealedShare> seeds;  // of survivors
  std::vector<RevealedShare> keys;   // of nodes that dropped
};

// The roster: ascending by name, 2 … kMaxMaskingNodes, no name and no key twice. A node's index (from 1) is
// its abscissa.
using MaskingRoster = std::vector<MaskingKeys>;
absl::Status ValidateRoster(std::span<const MaskingKeys> roster, std::size_t threshold);

// Whether others can use these keys. Errors: InvalidArgument for a point of small order.
absl::Status CheckKeys(const MaskingKeys& keys);

// Binds keys and masks to a round, on both sides.
std::string MaskingContext(std::string_view run, std::uint32_t round);

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

// Checks that `from` reveals what it received. `given` returns the sealed share from the first node to the
// second, or null. A node's own share of its own seed is not checked. Errors: InvalidArgument, naming owner
// and holder.
absl::Status CheckRevealed(
    const RevealedShares& shares, std::string_view context,
    const std::function<const SealedShare*(std::string_view from, std::string_view to)>& given);

// The masks that remain in the sum of the survivors' masked words: subtract them. `masked` names all nodes
// that shared: the survivors masked with them. Errors: InvalidArgument for fewer than `threshold` shares of a
// secret, unknown or repeated names; DataLoss if a node's recovered secret is not the published one. If all
// shares have passed CheckRevealed, that node has lied: `at_fault`.
class MaskRecovery {
 public:
  static absl::StatusOr<MaskRecovery> Create(const MaskingRoster& roster, std::size_t threshold,
                                             std::string_view context, std::span<const std::string> masked,
                                             std::span<const std::string> survivors,
                                             std::span<const RevealedShares> shares,
                                             std::string* at_fault = nullptr);

  // words[i] −= mask of element offset + i, for all masks. Calls may come in any order and size.
  absl::Status Subtract(std::size_t offset, std::span<std::int32_t> words) const;

 private:
  struct Stream {
    Key32 key{};
    bool add = false;  // the sign with which it stands in the sum
  };
  std::vector<Stream> streams_;
};

}  // namespace tributary::privacy
