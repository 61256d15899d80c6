#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/privacy/masking.h"
#include "core/privacy/secure_aggregation.h"
#include "core/privacy/shamir.h"

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

absl::StatusOr<MaskRecovery> MaskRecovery::Create(const MaskingRoster& roster, std::size_t threshold,
                                                  std::string_view context,
                                                  std::span<const std::string> masked,
                                                  std::span<const std::string> survivors,
                                                  std::span<const RevealedShares> shares,
                                                  std::string* at_fault) {
  if (absl::Status status = ValidateRoster(roster, threshold); !status.ok()) return status;
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
    if (absl::Status status = Collect(revealed.seeds, alive, abscissa, revealed.from, seeds); !status.ok()) {
      return status;
    }
    if (absl::Status status = Collect(revealed.keys, dropped, abscissa, revealed.from, keys); !status.ok()) {
      return status;
    }
  }

  MaskRecovery recovery;
  for (const std::string& node : alive) {
    const absl::StatusOr<Key32> seed = Recover(seeds, node, threshold);
    if (!seed.ok()) return seed.status();
    const absl::StatusOr<Key32> digest = SeedDigest(*seed, context, node);
    if (!digest.ok()) return digest.status();
    if (*digest != roster[PositionIn(roster, node)].seed_digest) return Lied(node, "seed", at_fault);
    const absl::StatusOr<Key32> key = SelfMaskKey(*seed, context);
    if (!key.ok()) return key.status();
    recovery.streams_.push_back({*key, true});
  }
  for (const std::string& node : dropped) {
    const absl::StatusOr<Key32> mask_private = Recover(keys, node, threshold);
    if (!mask_private.ok()) return mask_private.status();
    const absl::StatusOr<Key32> advertised = X25519PublicKey(*mask_private);
    if (!advertised.ok()) return advertised.status();
    const std::size_t position = PositionIn(roster, node);
    if (*advertised != roster[position].mask_key) return Lied(node, "key", at_fault);
    for (const std::string& survivor : alive) {
      const std::size_t peer = PositionIn(roster, survivor);
      const absl::StatusOr<Key32> key = PairMaskKey(*mask_private, roster[peer].mask_key, context);
      if (!key.ok()) return key.status();
      recovery.streams_.push_back({*key, peer < position});
    }
  }
  return recovery;
}

absl::Status CheckRevealed(
    const RevealedShares& shares, std::string_view context,
    const std::function<const SealedShare*(std::string_view from, std::string_view to)>& given) {
  const auto check = [&](SecretKind kind, const std::vector<RevealedShare>& revealed) -> absl::Status {
    for (const RevealedShare& share : revealed) {
      if (share.of == shares.from) continue;
      const SealedShare* sealed = given(share.of, shares.from);
      const auto digest = ShareDigest(kind, share.share, context, share.of, shares.from);
      if (!digest.ok()) return digest.status();
      if (sealed == nullptr ||
          *digest != (kind == SecretKind::kSeed ? sealed->seed_digest : sealed->key_digest)) {
        return Wrong(
            fmt::format("{} reveals a share of {} that is not the one it was given", shares.from, share.of));
      }
    }
    return absl::OkStatus();
  };
  absl::Status status = check(SecretKind::kSeed, shares.seeds);
  return status.ok() ? check(SecretKind::kKey, shares.keys) : status;
}

absl::Status MaskRecovery::Subtract(std::size_t offset, std::span<std::int32_t> words) const {
  for (const Stream& stream : streams_) {
    if (absl::Status status = AddKeystream(stream.key, offset, stream.add, words); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

}  // namespace tributary::privacy
