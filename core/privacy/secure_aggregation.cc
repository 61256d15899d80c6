#include "core/privacy/secure_aggregation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/privacy/cryptography.h"
#include "core/status/macros.h"

namespace tributary::privacy {
namespace {

using Names = std::set<std::string, std::less<>>;
using SharesOf = std::map<std::string, std::vector<ShamirShare>, std::less<>>;  // by owner of the secret

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

// Adds one holder's shares of one kind. Each owner must be in `owners` and occur once.
absl::Status Collect(const std::vector<RevealedShare>& shares, const Names& owners, std::uint8_t abscissa,
                     std::string_view from, SharesOf& collected) {
  Names seen;
  for (const RevealedShare& share : shares) {
    if (!owners.contains(share.of) || !seen.insert(share.of).second) {
      return Wrong(fmt::format("{} reveals a share of {} that was not asked for", from, share.of));
    }
    collected[share.of].push_back({abscissa, share.share});
  }
  return absl::OkStatus();
}

absl::StatusOr<Key32> Recover(const SharesOf& collected, const std::string& owner, std::size_t threshold) {
  const auto found = collected.find(owner);
  const std::size_t count = found == collected.end() ? 0 : found->second.size();
  if (count < threshold) return Wrong(fmt::format("{} shares of {}, {} are needed", count, owner, threshold));
  return JoinShares(std::span(found->second).first(threshold));
}

absl::Status Lied(const std::string& node, std::string_view what, std::string* at_fault) {
  if (at_fault != nullptr) *at_fault = node;
  return absl::DataLossError(
      fmt::format("the shares of {} do not give the {} that it advertised", node, what));
}

}  // namespace

std::string Bind(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += fmt::format("{}:{}", part.size(), part);
  return text;
}

absl::StatusOr<Key32> PairMaskKey(const Key32& private_key, const Key32& peer_public_key,
                                  std::string_view context) {
  ASSIGN_OR_RETURN(const Key32 secret, X25519Agree(private_key, peer_public_key));
  return DeriveKey(secret, Bind({"pair mask", context}));
}

absl::StatusOr<Key32> SelfMaskKey(const Key32& seed, std::string_view context) {
  return DeriveKey(seed, Bind({"self mask", context}));
}

absl::StatusOr<Key32> SeedDigest(const Key32& seed, std::string_view context, std::string_view node) {
  return DeriveKey(seed, Bind({"seed digest", context, node}));
}

absl::StatusOr<Key32> ShareDigest(SecretKind kind, const Key32& share, std::string_view context,
                                  std::string_view from, std::string_view to) {
  const std::string_view of = kind == SecretKind::kSeed ? "seed share digest" : "key share digest";
  return DeriveKey(share, Bind({of, context, from, to}));
}

std::size_t PositionIn(std::span<const MaskingKeys> roster, std::string_view node) {
  const auto found = std::ranges::find(roster, node, &MaskingKeys::node);
  return static_cast<std::size_t>(found - roster.begin());
}

std::string MaskingContext(std::string_view run, std::uint32_t round) {
  return fmt::format("{}/{}", run, round);
}

absl::Status ValidateRoster(std::span<const MaskingKeys> roster, std::size_t threshold) {
  if (roster.size() < 2 || roster.size() > kMaxMaskingNodes) {
    return Wrong(fmt::format("{} nodes, expected 2 to {}", roster.size(), kMaxMaskingNodes));
  }
  if (threshold <= roster.size() / 2 || threshold > roster.size()) {
    return Wrong(fmt::format("threshold {}, expected more than half of {} nodes", threshold, roster.size()));
  }
  std::set<Key32> keys;
  for (std::size_t i = 0; i < roster.size(); ++i) {
    if (roster[i].node.empty() || (i > 0 && roster[i].node <= roster[i - 1].node)) {
      return Wrong("the roster is not in ascending order of its names");
    }
    if (!keys.insert(roster[i].cipher_key).second || !keys.insert(roster[i].mask_key).second) {
      return Wrong(fmt::format("{} has a key that comes twice", roster[i].node));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckKeys(const MaskingKeys& keys) {
  ASSIGN_OR_RETURN(const Key32 own, RandomKey());
  RETURN_IF_ERROR(X25519Agree(own, keys.cipher_key).status());
  return X25519Agree(own, keys.mask_key).status();
}

absl::StatusOr<MaskRecovery> MaskRecovery::Create(const MaskingRoster& roster, std::size_t threshold,
                                                  std::string_view context,
                                                  std::span<const std::string> masked,
                                                  std::span<const std::string> survivors,
                                                  std::span<const RevealedShares> shares,
                                                  std::string* at_fault) {
  RETURN_IF_ERROR(ValidateRoster(roster, threshold));
  const Names all(masked.begin(), masked.end());
  const Names alive(survivors.begin(), survivors.end());
  if (all.size() != masked.size() || alive.size() != survivors.size()) return Wrong("a name comes twice");
  for (const std::string& node : all) {
    if (PositionIn(roster, node) == roster.size()) return Wrong(fmt::format("{} is not in the roster", node));
  }
  if (!std::ranges::includes(all, alive)) return Wrong("a survivor that nobody masked with");
  Names dropped;
  std::ranges::set_difference(all, alive, std::inserter(dropped, dropped.end()));

  SharesOf seeds, keys;
  Names holders;
  for (const RevealedShares& revealed : shares) {
    if (!all.contains(revealed.from) || !holders.insert(revealed.from).second) {
      return Wrong(fmt::format("{} reveals shares that it does not hold, or twice", revealed.from));
    }
    const auto abscissa = static_cast<std::uint8_t>(PositionIn(roster, revealed.from) + 1);
    RETURN_IF_ERROR(Collect(revealed.seeds, alive, abscissa, revealed.from, seeds));
    RETURN_IF_ERROR(Collect(revealed.keys, dropped, abscissa, revealed.from, keys));
  }

  MaskRecovery recovery;
  for (const std::string& node : alive) {
    ASSIGN_OR_RETURN(const Key32 seed, Recover(seeds, node, threshold));
    ASSIGN_OR_RETURN(const Key32 digest, SeedDigest(seed, context, node));
    if (digest != roster[PositionIn(roster, node)].seed_digest) return Lied(node, "seed", at_fault);
    ASSIGN_OR_RETURN(const Key32 key, SelfMaskKey(seed, context));
    recovery.streams_.push_back({key, true});
  }
  for (const std::string& node : dropped) {
    ASSIGN_OR_RETURN(const Key32 mask_private, Recover(keys, node, threshold));
    ASSIGN_OR_RETURN(const Key32 advertised, X25519PublicKey(mask_private));
    const std::size_t position = PositionIn(roster, node);
    if (advertised != roster[position].mask_key) return Lied(node, "key", at_fault);
    for (const std::string& survivor : alive) {
      const std::size_t peer = PositionIn(roster, survivor);
      ASSIGN_OR_RETURN(const Key32 key, PairMaskKey(mask_private, roster[peer].mask_key, context));
      recovery.streams_.push_back({key, peer < position});
    }
  }
  return recovery;
}

absl::Status CheckRevealed(
    const RevealedShares& shares, std::string_view context,
    const std::function<const SealedShare*(std::string_view from, std::string_view to)>& given) {
  const auto check = [&](SecretKind kind, const std::vector<RevealedShare>& revealed,
                         Key32 SealedShare::*published) -> absl::Status {
    for (const RevealedShare& share : revealed) {
      if (share.of == shares.from) continue;
      const SealedShare* sealed = given(share.of, shares.from);
      ASSIGN_OR_RETURN(const Key32 digest, ShareDigest(kind, share.share, context, share.of, shares.from));
      if (sealed == nullptr || digest != sealed->*published) {
        return Wrong(
            fmt::format("{} reveals a share of {} that is not the one it was given", shares.from, share.of));
      }
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(check(SecretKind::kSeed, shares.seeds, &SealedShare::seed_digest));
  return check(SecretKind::kKey, shares.keys, &SealedShare::key_digest);
}

absl::Status MaskRecovery::Subtract(std::size_t offset, std::span<std::int32_t> words) const {
  for (const Stream& stream : streams_) RETURN_IF_ERROR(AddKeystream(stream.key, offset, stream.add, words));
  return absl::OkStatus();
}

}  // namespace tributary::privacy
