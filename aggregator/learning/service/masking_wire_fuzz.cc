// A round of secure aggregation among three honest nodes and whatever any bytes say as a node's messages:
// each is taken or refused, without a crash, and a sum is unmasked or a node named that is at fault.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/learning/run/masking_session.h"
#include "aggregator/learning/service/federation_wire.h"
#include "core/privacy/masking_node.h"
#include "core/wire/federation_task.h"

namespace tributary::learning {
namespace {

constexpr std::size_t kNodes = 3;
constexpr std::array<const char*, kNodes> kNames = {"ash", "elm", "oak"};
constexpr std::size_t kElements = 8;
const std::string kContext = privacy::MaskingContext("fuzz", 1);

// Honest nodes and the messages that they send if all of them take part.
struct Honest {
  std::array<std::unique_ptr<privacy::MaskingNode>, kNodes> nodes;
  std::array<std::string, kNodes> keys, shares, revealed;  // serialised
};

template <class Request>
std::string Message(std::size_t node, const auto& content, const auto& to_wire) {
  Request request;
  request.set_run("fuzz");
  request.set_round(1);
  request.set_node(kNames[node]);
  to_wire(content, request);
  return request.SerializeAsString();
}

Honest MakeHonest() {
  Honest honest;
  privacy::MaskingRoster roster;
  for (std::size_t i = 0; i < kNodes; ++i) {
    honest.nodes[i] = *privacy::MaskingNode::Create(kNames[i], kContext);
    roster.push_back(honest.nodes[i]->keys());
    honest.keys[i] = Message<v1::AdvertiseKeysRequest>(i, honest.nodes[i]->keys(), wire::KeysToWire);
  }
  const std::size_t threshold = MaskingThreshold(kNodes);
  std::vector<privacy::SealedShare> all;
  for (std::size_t i = 0; i < kNodes; ++i) {
    const auto shares = *honest.nodes[i]->Share(roster, threshold);
    honest.shares[i] = Message<v1::ShareKeysRequest>(i, shares, wire::SharesToWire);
    all.insert(all.end(), shares.begin(), shares.end());
  }
  const std::vector<std::string> names(kNames.begin(), kNames.end());
  for (std::size_t i = 0; i < kNodes; ++i) {
    std::vector<privacy::SealedShare> mine;
    std::ranges::copy_if(all, std::back_inserter(mine),
                         [&](const auto& share) { return share.to == names[i]; });
    std::vector<std::int32_t> words(kElements);
    if (!honest.nodes[i]->Mask(mine, words).ok()) std::abort();
    honest.revealed[i] =
        Message<v1::UnmaskRequest>(i, *honest.nodes[i]->Reveal(names, {}), wire::RevealedToWire);
  }
  return honest;
}

// An honest message, some of its bytes overwritten, or any bytes.
std::string TakeBytes(FuzzedDataProvider& input, const std::array<std::string, kNodes>& honest) {
  const auto which = input.ConsumeIntegralInRange<std::size_t>(0, kNodes);
  if (which == kNodes) return input.ConsumeRandomLengthString();
  std::string bytes = honest[which];
  for (int edits = input.ConsumeIntegralInRange(0, 3); edits > 0; --edits) {
    bytes[input.ConsumeIntegralInRange<std::size_t>(0, bytes.size() - 1)] = input.ConsumeIntegral<char>();
  }
  return bytes;
}

template <class Request>
void Take(FuzzedDataProvider& input, const std::array<std::string, kNodes>& honest, MaskingSession& session) {
  for (int messages = input.ConsumeIntegralInRange(0, 5); messages > 0; --messages) {
    Request request;
    if (!request.ParseFromString(TakeBytes(input, honest))) continue;
    absl::StatusOr<MaskingMessage> step = StepFromWire(request);
    if (step.ok()) session.Take(*std::move(step)).IgnoreError();
  }
}

// Those that have done the step, ascending; the input leaves some out.
std::vector<std::string> Those(FuzzedDataProvider& input, RoundStep step, const MaskingSession& session) {
  std::vector<std::string> names;
  for (const char* name : kNames) {
    if (session.HasTaken(step, name) && input.ConsumeIntegral<std::uint8_t>() != 0) names.push_back(name);
  }
  return names;
}

}  // namespace
}  // namespace tributary::learning

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  using namespace tributary::learning;
  static const Honest honest = MakeHonest();
  FuzzedDataProvider input(bytes, size);
  MaskingSession session(kContext);
  Take<v1::AdvertiseKeysRequest>(input, honest.keys, session);
  if (!session.Begin(RoundStep::kShares, Those(input, RoundStep::kKeys, session)).ok()) return 0;
  Take<v1::ShareKeysRequest>(input, honest.shares, session);
  const std::vector<std::string> masked = Those(input, RoundStep::kShares, session);
  if (masked.size() < session.threshold()) return 0;
  session.Begin(RoundStep::kTraining, masked).IgnoreError();
  for (const std::string& name : masked) (void)session.SharesFor(name);
  const std::vector<std::string> survivors = Those(input, RoundStep::kShares, session);
  session.Begin(RoundStep::kUnmasking, survivors).IgnoreError();
  Take<v1::UnmaskRequest>(input, honest.revealed, session);
  if (!session.CanUnmask()) return 0;
  Accumulator sum(kElements);
  sum.Start({});
  const absl::Status unmasked = session.Unmask(sum);
  if (absl::IsDataLoss(unmasked) && session.at_fault().empty()) std::abort();
  return 0;
}
