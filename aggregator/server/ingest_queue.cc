#include "aggregator/server/ingest_queue.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "aggregator/server/report_call.h"
#include "aggregator/server/watch_call.h"

namespace tributary::server {
namespace {

// Acknowledgements free the sender's spool, which holds seconds: waiting a few milliseconds saves most of
// their cost.
constexpr std::int64_t kAnswerDelayNs = 4'000'000;
// Each posted read costs a window update on the wire, so reads pause until the slot is published. If no slot
// completes (a panel is missing, a stream runs ahead), the pause would only slow the present streams. After
// one pause in vain, reads are posted at once until a slot completes again.
constexpr std::int64_t kReadDelayNs = 1'000'000;
constexpr std::int64_t kCheckUpNs = 1'000'000'000;
// A name that loses its role is out within a second, on an idle queue too.
constexpr std::int64_t kPolicyNs = 400'000'000;

}  // namespace

IngestQueue::IngestQueue(IngestContext& context, FusionServiceOnQueue& service,
                         std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : context_(context), service_(service), queue_(std::move(queue)) {}

IngestQueue::~IngestQueue() = default;

std::int64_t IngestQueue::used_ns() const {
  timespec used{};
  clock_gettime(used_, &used);
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

void IngestQueue::Run() {
  clockid_t clock = CLOCK_MONOTONIC;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) used_ = clock;
  CountReads();
  ReportCall::Listen(*this);
  WatchCall::Listen(*this);
  void* tag = nullptr;
  bool ok = false;
  while (true) {
    const auto got = queue_->AsyncNext(&tag, &ok, WaitLimit());
    EndRead();
    switch (got) {
      case grpc::CompletionQueue::SHUTDOWN:
        return;
      case grpc::CompletionQueue::GOT_EVENT:
        (*static_cast<Completion*>(tag))(ok);
        break;
      case grpc::CompletionQueue::TIMEOUT:
        break;
    }
    if (published_) rests_ = context_.one_queue;
    FuseOverdue();
    const std::int64_t now_ns = context_.state.clock.SteadyNs();
    if (!published_ && now_ns >= next_read_ns_) rests_ = false;
    if (published_ || !rests_) ReadOnAll();
    // Not in the middle of a slot.
    if (now_ns >= next_answer_ns_ && resting_.empty()) AnswerAll();
    if (now_ns >= next_check_up_ns_) CheckUp();
    FollowPolicy();
  }
}

void IngestQueue::Discard() {
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
}

gpr_timespec IngestQueue::WaitLimit() const {
  const std::int64_t next_answer_ns = resting_.empty() ? next_answer_ns_ : next_read_ns_;
  std::int64_t next_ns = std::min({next_read_ns_, next_answer_ns, next_check_up_ns_});
  for (const auto& site : context_.state.sites.all())
    next_ns = std::min(next_ns, site->engine().NextDeadline());
  std::int64_t left_ns = std::max<std::int64_t>(next_ns - context_.state.clock.SteadyNs(), 0);
  if (context_.state.access != nullptr) left_ns = std::min(left_ns, kPolicyNs);
  // gRPC rounds up to whole milliseconds: a slot is fused up to 2 ms after its deadline.
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left_ns, GPR_TIMESPAN));
}

void IngestQueue::FuseOverdue() {
  const fusion::FusionTime now = context_.Now();
  for (const auto& site : context_.state.sites.all()) {
    while (site->engine().NextDeadline() <= now.steady_ns) {
      site->engine().Advance(now, fused_);
      PublishFused(*site);
    }
  }
}

void IngestQueue::PublishFused(publish::Site& site) {
  site.Publish(fused_);
  published_ |= !fused_.empty();
  // This thread's stream is told directly; the engine counts all gated tuples.
  for (const fusion::GatedTuple& tuple : fused_.gated) {
    for (ReportCall* call : reports_) {
      if (call->session().site() == &site && call->session().Owns(tuple.source))
        call->session().RefuseGated(tuple);
    }
  }
  fused_.Clear();
}

void IngestQueue::AnswerSoon(std::int64_t now_steady_ns) {
  if (next_answer_ns_ == fusion::FusionEngine::kNoDeadline) next_answer_ns_ = now_steady_ns + kAnswerDelayNs;
}

void IngestQueue::AnswerAll() {
  next_answer_ns_ = fusion::FusionEngine::kNoDeadline;
  for (ReportCall* call : reports_) call->Answer();
}

void IngestQueue::ReadSoon(ReportCall* call) {
  resting_.push_back(call);
  if (next_read_ns_ == fusion::FusionEngine::kNoDeadline)
    next_read_ns_ = context_.state.clock.SteadyNs() + kReadDelayNs;
}

void IngestQueue::ReadOnAll() {
  published_ = false;
  next_read_ns_ = fusion::FusionEngine::kNoDeadline;
  for (ReportCall* call : resting_) call->ReadOn();
  resting_.clear();
}

void IngestQueue::Remove(ReportCall* call) {
  reports_.erase(call);
  if (call->has_place()) {
    report_places_.GiveBack(call->peer());
  } else {
    silent_.remove(call);
  }
  std::erase(resting_, call);
  NoteIfEnded();
}

void IngestQueue::Remove(WatchCall* call) {
  if (watches_.erase(call) > 0) {
    context_.readers.Leave();
    watch_places_.GiveBack(call->peer());
  }
  NoteIfEnded();
}

void IngestQueue::NoteIfEnded() {
  if (draining_ && reports_.empty() && watches_.empty() && !ended_.HasBeenNotified()) ended_.Notify();
}

void IngestQueue::WaitUntilEnded(std::chrono::milliseconds limit) {
  ended_.WaitForNotificationWithTimeout(absl::FromChrono(limit));
}

void IngestQueue::CheckUp() {
  const std::int64_t now_ns = context_.state.clock.SteadyNs();
  next_check_up_ns_ = now_ns + kCheckUpNs;
  for (ReportCall* call : reports_) call->CheckUp(now_ns);
  for (WatchCall* call : watches_) call->CheckUp();
}

void IngestQueue::FollowPolicy() {
  const access::AccessControl* const access = context_.state.access;
  if (access == nullptr || access->changes() == seen_policy_) return;
  seen_policy_ = access->changes();
  for (ReportCall* call : reports_) call->CheckAccess();
  for (WatchCall* call : watches_) call->CheckAccess();
}

void IngestQueue::Add(ReportCall* call) {
  reports_.insert(call);
  silent_.push_back(call);
  if (silent_.size() <= kMaxSilent) return;
  std::map<std::string_view, std::size_t> of_peer;
  for (const ReportCall* each : silent_) ++of_peer[each->peer()];
  const auto most = std::ranges::max_element(of_peer, {}, [](const auto& each) { return each.second; });
  const auto oldest = std::ranges::find(silent_, most->first, &ReportCall::peer);
  ReportCall* const ended = *oldest;
  silent_.erase(oldest);
  ended->EndSilent();
}

bool IngestQueue::TakePlace(ReportCall* call) {
  if (!report_places_.Take(call->peer())) return false;
  silent_.remove(call);
  return true;
}

bool IngestQueue::Add(WatchCall* call) {
  if (!watch_places_.Take(call->peer())) return false;
  watches_.insert(call);
  context_.readers.Join();
  return true;
}

void IngestQueue::Stop() { stop_.Set(queue_.get(), gpr_inf_past(GPR_CLOCK_MONOTONIC), &stop_tag_); }

void IngestQueue::OnStop() {
  draining_ = true;
  for (ReportCall* call : reports_) call->End(absl::UnavailableError("the aggregator is shutting down"));
  for (WatchCall* call : watches_) call->Drain();
  NoteIfEnded();
}

}  // namespace tributary::server
