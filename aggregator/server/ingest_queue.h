// One completion queue and its thread: the hot path from frame to fused slot to watcher.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <vector>

#include "absl/synchronization/notification.h"
#include "aggregator/fusion/engine.h"
#include "aggregator/publish/aggregator_state.h"
#include "aggregator/publish/watch_queue.h"
#include "aggregator/server/bounded_request.h"
#include "aggregator/server/connection_table.h"
#include "aggregator/server/early_methods.h"
#include "aggregator/server/peer_shares.h"
#include "aggregator/server/read_cost.h"
#include "aggregator/server/stream_refusal.h"
#include "core/runtime/log.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::server {

class ReportCall;
class WatchCall;

// A tag of the completion queue: called on the queue's thread with gRPC's `ok` of the operation. It may
// delete its owner.
using Completion = std::function<void(bool ok)>;

// Report is raw, so that a message that does not parse can be answered.
class FusionServiceOnQueue
    : public EarlyMethods<v1::FusionService::WithRawMethod_Report<v1::FusionService::Service>> {
 public:
  FusionServiceOnQueue() { BeginsEarly(kWatch); }

  using WatchRequest = BoundedRequest<v1::WatchRequest>;

  void RequestWatch(grpc::ServerContext* context,
                    grpc::ServerAsyncReaderWriter<v1::WatchResponse, WatchRequest>* stream,
                    grpc::CompletionQueue* calls, grpc::ServerCompletionQueue* notices, void* tag) {
    RequestAsyncBidiStreaming(kWatch, context, stream, calls, notices, tag);
  }

 private:
  static constexpr int kWatch = 1;  // its place in the .proto file
};

// What all queues share; outlives them.
struct IngestContext {
  publish::AggregatorState& state;
  ConnectionTable& connections;
  const std::size_t max_message_bytes;
  const bool one_queue = true;
  publish::ReaderShare readers;
  std::array<std::atomic<std::uint64_t>, kStreamFaults> refusals = {};
  runtime::LogLimit refusal_lines{20, 1'000'000'000};  // of streams whose node is not known
  std::atomic<std::uint64_t> skipped_slots = 0;

  fusion::FusionTime Now() const { return {state.clock.SteadyNs(), state.clock.UnixNs()}; }
};

// Run() is the thread; calls live on it. Other threads may call only Stop() and the functions that
// WatchCall::OnSlots uses.
class IngestQueue {
 public:
  // Report streams without a hello. Beyond it the oldest of the peer with the most makes room: a peer that
  // says hello at once always gets in.
  static constexpr std::size_t kMaxSilent = 128;

  IngestQueue(IngestContext& context, FusionServiceOnQueue& service,
              std::unique_ptr<grpc::ServerCompletionQueue> queue);
  ~IngestQueue();

  // Serves until Close(). Each wake-up also fuses slots past their deadline and sends the answers that are
  // due.
  void Run();
  // Makes the thread end every call after its last answers: acknowledgements, and a watcher's queue. Returns
  // at once.
  void Stop();
  // Call after Stop(): waits until every call has ended, or the time has passed.
  void WaitUntilEnded(std::chrono::milliseconds limit);
  // Call after the server has shut down: lets Run() return.
  void Close() { queue_->Shutdown(); }

  // The processor's time that its thread has used. Any thread, while it runs.
  std::int64_t used_ns() const;

  // Instead of Run(), for a server that could not start.
  void Discard();

  // For the calls. A report begins without a hello; with it, it needs a place, which belongs to its peer.
  void Add(ReportCall* call);
  bool TakePlace(ReportCall* call);
  void Remove(ReportCall* call);
  bool Add(WatchCall* call);
  void Remove(WatchCall* call);
  // Offer appends to it; empty between calls.
  fusion::FusedSlots& fused() { return fused_; }
  // Publishes fused() and empties it.
  void PublishFused(publish::Site& site);
  // For a stream of one source: reads on once the frame's slot is published, or after a millisecond. Each
  // read makes gRPC send a window update, which would delay the other frames of the slot and wake their
  // senders. If there are several queues, another one may publish the slot, which wakes nobody here: then
  // reads on with the next event.
  void ReadSoon(ReportCall* call);
  // Answers every stream some milliseconds after the first one that asks.
  void AnswerSoon(std::int64_t now_steady_ns);

  IngestContext& context() { return context_; }
  FusionServiceOnQueue& service() { return service_; }
  grpc::ServerCompletionQueue* queue() { return queue_.get(); }
  bool draining() const { return draining_; }

 private:
  void OnStop();
  void NoteIfEnded();
  void FuseOverdue();
  void AnswerAll();
  void ReadOnAll();
  void CheckUp();
  // Judges the open streams again if the policy has changed.
  void FollowPolicy();
  // The wait for the next event.
  gpr_timespec WaitLimit() const;

  IngestContext& context_;
  FusionServiceOnQueue& service_;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  fusion::FusedSlots fused_;
  std::set<ReportCall*> reports_;
  std::list<ReportCall*> silent_;  // of these, the ones without a hello, oldest first
  PeerShares report_places_{kReportPlaces, kReportPlaces / 2};
  std::set<WatchCall*> watches_;
  PeerShares watch_places_{kWatchPlaces, kWatchPlaces / 2};
  std::vector<ReportCall*> resting_;  // read from, not yet read again
  bool published_ = false;            // since the last event
  bool rests_ = context_.one_queue;   // reads pause until the slot is published
  std::int64_t next_read_ns_ = fusion::FusionEngine::kNoDeadline;
  std::int64_t next_answer_ns_ = fusion::FusionEngine::kNoDeadline;
  std::int64_t next_check_up_ns_ = 0;
  std::uint64_t seen_policy_ = 0;  // AccessControl::changes
  bool draining_ = false;
  std::atomic<clockid_t> used_ = CLOCK_MONOTONIC;  // the clock of the thread's time, once it runs

  absl::Notification ended_;  // stopped, and every call has ended
  grpc::Alarm stop_;
  Completion stop_tag_ = [this](bool) { OnStop(); };
};

}  // namespace tributary::server
