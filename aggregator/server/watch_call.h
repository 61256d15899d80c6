// One Watch stream on a completion queue.
#pragma once

#include <grpcpp/support/async_stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "aggregator/publish/slot_feed.h"
#include "aggregator/publish/slot_view.h"
#include "aggregator/publish/watch_queue.h"
#include "aggregator/server/counted_call.h"
#include "aggregator/server/ingest_queue.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::server {

// The ingest thread that fused a slot writes it at once if no write is under way. Otherwise the slot waits in
// the WatchQueue, and the queue's thread continues after the write.
class WatchCall final : public publish::SlotSink, public std::enable_shared_from_this<WatchCall> {
 public:
  static void Listen(IngestQueue& queue);

  void OnSlots(std::span<const estimate::FusedSlot> slots) override;

  // Once a second: sends the latest slot if it was held back and no other has come. Cuts off a reader that
  // was told to go and does not read.
  void CheckUp();

  // Ends the stream if the policy or the list in force no longer admits it.
  void CheckAccess();

  // Sends the queued slots, then ends the stream.
  void Drain();

  // Whose share of places it uses.
  const std::string& peer() const { return peer_; }

 private:
  explicit WatchCall(IngestQueue& queue) : queue_(queue), shared_(queue.context()) {}

  void OnStarted(bool ok);
  void OnRequest(bool ok);
  void OnWritten(bool ok);
  void OnFinished();
  void OnDone();

  void Write(const estimate::FusedSlot& slot, std::uint64_t skipped, bool more);
  absl::Status StillAdmitted() const;
  void End(absl::Status status);
  void ReleaseIfDone();

  IngestQueue& queue_;
  IngestContext& shared_;
  grpc::ServerContext context_;
  FusionServiceOnQueue::WatchRequest request_;
  grpc::ServerAsyncReaderWriter<v1::WatchResponse, FusionServiceOnQueue::WatchRequest> stream_{&context_};
  std::optional<CountedCall> counted_;
  std::string peer_;
  std::shared_ptr<WatchCall> self_;  // until the last completion
  publish::Site* site_ = nullptr;
  access::Peer identity_;  // empty without TLS
  bool registered_ = false;

  runtime::Mutex mutex_;
  std::optional<publish::WatchQueue> pending_ GUARDED_BY(mutex_);
  // The read of the request, a write or the finish is under way; the thread that set it is the writer.
  bool writing_ GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> ending_ GUARDED_BY(mutex_);  // set: no more slots are taken
  bool finishing_ GUARDED_BY(mutex_) = false;
  bool revoked_ GUARDED_BY(mutex_) = false;
  bool done_ GUARDED_BY(mutex_) = false;

  std::unique_ptr<publish::SlotView> view_;  // the writer's
  estimate::FusedSlot next_;                 // reused; belongs to the writer, as do those below
  v1::WatchResponse response_;               // reused
  bool described_ = false;

  Completion started_ = [this](bool ok) { OnStarted(ok); };
  Completion requested_ = [this](bool ok) { OnRequest(ok); };
  Completion written_ = [this](bool ok) { OnWritten(ok); };
  Completion finish_ = [this](bool) { OnFinished(); };
  Completion done_tag_ = [this](bool) { OnDone(); };
};

}  // namespace tributary::server
