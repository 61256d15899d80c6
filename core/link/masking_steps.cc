#include "core/link/masking_steps.h"

#include <chrono>
#include <type_traits>
#include <utility>

#include "core/link/federation_calls.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"

namespace tributary::link {
namespace {

// The messages are small. After this timeout the other side asks again on another stream.
constexpr std::chrono::seconds kStepLimit{30};

}  // namespace

MaskingSteps::MaskingSteps(LiveStub<v1::FederationService>& stub, const FederationClientOptions& self,
                           const runtime::Clock& clock)
    : stub_(stub), self_(self), clock_(clock), party_(self.node) {}

absl::Status MaskingSteps::Skip(const std::string& run, std::uint32_t round, const absl::Status& why,
                                const std::stop_token& stop) {
  CountSkipped(run, round, why);
  v1::DeclineTaskRequest decline;
  decline.set_reason(v1::DECLINE_REASON_KEYS);
  decline.set_message(absl::IsNotFound(why) ? "this node has lost the keys of that round"
                                            : std::string(why.message()));
  return DeclineOnce(*stub_.Get(), self_, run, round, std::move(decline), stop);
}

void MaskingSteps::CountSkipped(const std::string& run, std::uint32_t round, const absl::Status& why) {
  if (!absl::IsNotFound(why)) {
    ++refused_steps_;
    if (const auto more = lines_.Admit(clock_.SteadyNs())) {
      runtime::LogError("round {} of {} cannot be masked: {}{}", round, wire::PeerText(run),
                        wire::PeerText(why.ToString()), *more);
    }
    return;
  }
  {
    std::string lost = privacy::MaskingContext(run, round);
    const runtime::MutexLock lock(mutex_);
    if (lost == last_lost_) return;
    last_lost_ = std::move(lost);
  }
  ++lost_rounds_;
  if (const auto more = lines_.Admit(clock_.SteadyNs())) {
    runtime::LogWarning("this node leaves round {} of {}: its keys are lost{}", round, wire::PeerText(run),
                        *more);
  }
}

template <class Make>
std::invoke_result_t<Make, privacy::MaskingParty&> MaskingSteps::Locked(Make make) {
  const runtime::MutexLock lock(mutex_);
  return make(party_);
}

template <class Task, class Made, class Request, class Response>
absl::Status MaskingSteps::Call(Method<Request, Response> method, const Task& task,
                                const absl::StatusOr<Made>& made, void (*to_wire)(const Made&, Request&),
                                const std::stop_token& stop) {
  if (!made.ok()) return Skip(task.run, task.round, made.status(), stop);
  Request request;
  to_wire(*made, request);
  request.set_run(task.run);
  request.set_round(task.round);
  request.set_node(self_.node);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kStepLimit);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  Response response;
  RETURN_IF_ERROR(FromGrpc((stub_.Get().get()->*method)(&context, request, &response)));
  // The answer was late or already taken. Late answers to unmasking are normal: a threshold of the nodes is
  // enough.
  if (response.accepted() || std::is_same_v<Task, wire::UnmaskTask>) return absl::OkStatus();
  ++refused_steps_;
  if (const auto more = lines_.Admit(clock_.SteadyNs())) {
    runtime::LogWarning("round {} of {} continues without this node: {}{}", task.round,
                        wire::PeerText(task.run), wire::PeerText(response.message()), *more);
  }
  return absl::OkStatus();
}

absl::Status MaskingSteps::Answer(const wire::AdvertiseKeysTask& task, const std::stop_token& stop) {
  const auto keys = Locked([&](auto& party) { return party.Keys(task.run, task.round); });
  return Call(&v1::FederationService::Stub::AdvertiseKeys, task, keys, &wire::KeysToWire, stop);
}

absl::Status MaskingSteps::Answer(const wire::ShareKeysTask& task, const std::stop_token& stop) {
  using Shares = absl::StatusOr<std::vector<privacy::SealedShare>>;
  const Shares shares = Locked([&](privacy::MaskingParty& party) -> Shares {
    ASSIGN_OR_RETURN(privacy::MaskingNode* const node, party.Find(task.run, task.round));
    return node->Share(task.nodes, task.threshold);
  });
  return Call(&v1::FederationService::Stub::ShareKeys, task, shares, &wire::SharesToWire, stop);
}

absl::Status MaskingSteps::Answer(const wire::UnmaskTask& task, const std::stop_token& stop) {
  using Revealed = absl::StatusOr<privacy::RevealedShares>;
  const Revealed revealed = Locked([&](privacy::MaskingParty& party) -> Revealed {
    ASSIGN_OR_RETURN(privacy::MaskingNode* const node, party.Find(task.run, task.round));
    return node->Reveal(task.survivors, task.dropped);
  });
  return Call(&v1::FederationService::Stub::Unmask, task, revealed, &wire::RevealedToWire, stop);
}

absl::StatusOr<bool> MaskingSteps::CanMask(const wire::TrainTask& task, const std::stop_token& stop) {
  {
    const runtime::MutexLock lock(mutex_);
    // False if the aggregator asks again although this node's update is under way or answered.
    if (const auto node = party_.Find(task.run, task.round); node.ok()) return (*node)->can_mask();
  }
  RETURN_IF_ERROR(Skip(task.run, task.round, absl::NotFoundError("no keys"), stop));
  return false;
}

absl::Status MaskingSteps::Mask(const wire::TrainTask& task, std::span<std::int32_t> words) {
  std::vector<std::string> unusable;
  {
    const runtime::MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(privacy::MaskingNode* const node, party_.Find(task.run, task.round));
    RETURN_IF_ERROR(node->Mask(task.masking->shares, words));
    unusable = node->unusable();
  }
  unusable_shares_ += unusable.size();
  for (const std::string& node : unusable) {
    const auto more = lines_.Admit(clock_.SteadyNs());
    if (!more) continue;
    runtime::LogWarning("round {} of {}: {} sent an unusable share{}", task.round, wire::PeerText(task.run),
                        wire::PeerText(node), *more);
  }
  return absl::OkStatus();
}

}  // namespace tributary::link
