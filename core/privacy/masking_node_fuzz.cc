// A node between a hostile aggregator and one honest peer: any rosters, shares and lists of names are taken
// or refused, without a crash. It never reveals both shares of one node, nor other shares on a second
// request.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/privacy/masking_node.h"

namespace tributary::privacy {
namespace {

constexpr const char* kOwn = "oak";
constexpr const char* kPeer = "ash";

void Require(bool holds) {
  if (!holds) std::abort();
}

Key32 TakeKey(FuzzedDataProvider& input) {
  Key32 key{};
  input.ConsumeData(key.data(), key.size());
  return key;
}

// Both honest nodes, unless the input leaves one out, and strangers.
MaskingRoster TakeRoster(FuzzedDataProvider& input, const MaskingNode& own, const MaskingNode& peer) {
  MaskingRoster roster;
  if (input.ConsumeIntegral<std::uint8_t>() != 0) roster.push_back(own.keys());
  if (input.ConsumeIntegral<std::uint8_t>() != 0) roster.push_back(peer.keys());
  for (int strangers = input.ConsumeIntegralInRange(0, 4); strangers > 0; --strangers) {
    roster.push_back({input.ConsumeRandomLengthString(4), TakeKey(input), TakeKey(input), {}});
  }
  if (input.ConsumeBool()) std::ranges::sort(roster, {}, &MaskingKeys::node);
  return roster;
}

std::string TakeName(FuzzedDataProvider& input, const MaskingRoster& roster) {
  if (roster.empty() || input.ConsumeBool()) return input.ConsumeRandomLengthString(4);
  return roster[input.ConsumeIntegralInRange<std::size_t>(0, roster.size() - 1)].node;
}

std::vector<std::string> TakeNames(FuzzedDataProvider& input, const MaskingRoster& roster) {
  std::vector<std::string> names(input.ConsumeIntegralInRange<std::size_t>(0, 6));
  for (std::string& name : names) name = TakeName(input, roster);
  return names;
}

// What the peer sealed for the node, or anything else.
std::vector<SealedShare> TakeShares(FuzzedDataProvider& input, const MaskingRoster& roster,
                                    const std::vector<SealedShare>& honest) {
  std::vector<SealedShare> shares;
  for (int count = input.ConsumeIntegralInRange(0, 5); count > 0; --count) {
    if (!honest.empty() && input.ConsumeBool()) {
      shares.push_back(honest[input.ConsumeIntegralInRange<std::size_t>(0, honest.size() - 1)]);
    } else {
      shares.push_back({TakeName(input, roster), TakeName(input, roster), input.ConsumeRandomLengthString(),
                        TakeKey(input), TakeKey(input)});
    }
  }
  return shares;
}

void CheckRevealed(const RevealedShares& revealed) {
  std::set<std::string> seeds;
  for (const RevealedShare& share : revealed.seeds) Require(seeds.insert(share.of).second);
  for (const RevealedShare& share : revealed.keys) Require(!seeds.contains(share.of));
}

}  // namespace
}  // namespace tributary::privacy

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::privacy;
  FuzzedDataProvider input(bytes, size);
  const auto own = *MaskingNode::Create(kOwn, "fuzz/1");
  const auto peer = *MaskingNode::Create(kPeer, "fuzz/1");
  const MaskingRoster roster = TakeRoster(input, *own, *peer);
  const std::size_t threshold = input.ConsumeIntegralInRange<std::size_t>(0, 8);
  const auto sealed = own->Share(roster, threshold);
  const auto honest = peer->Share(roster, threshold);
  Require(!sealed.ok() || sealed->size() + 1 == roster.size());
  std::vector<std::int32_t> words(16);
  if (!own->Mask(TakeShares(input, roster, honest.ok() ? *honest : std::vector<SealedShare>()), words).ok()) {
    return 0;
  }
  Require(!own->can_mask() && own->unusable().size() < roster.size());
  std::vector<RevealedShares> answers;
  for (int requests = 0; requests < 3; ++requests) {
    const auto revealed = own->Reveal(TakeNames(input, roster), TakeNames(input, roster));
    if (!revealed.ok()) continue;
    CheckRevealed(*revealed);
    if (!answers.empty()) {
      Require(answers.front().seeds.size() == revealed->seeds.size() &&
              answers.front().keys.size() == revealed->keys.size());
    }
    answers.push_back(*revealed);
  }
  return 0;
}
