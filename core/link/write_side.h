// The write side of a Report stream: the thread that has a frame writes it itself, one thread at a time.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/link/spool/spool.h"
#include "core/runtime/clock.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::link {

// One stream; the thread that writes keeps it alive until its call returns.
struct ReportStream {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::ReportRequest, v1::ReportResponse>> rpc;
};

// Packs frames of the spool into messages. Thread-safe.
class WriteSide {
 public:
  // A message goes out once `frames_per_message` frames wait. `tag` marks a write's completion.
  WriteSide(Spool& spool, const runtime::Clock& clock, std::size_t frames_per_message, void* tag)
      : spool_(spool), clock_(clock), frames_per_message_(frames_per_message), tag_(tag) {}

  // Opens the stream for frames, until Shut.
  void Open(std::shared_ptr<ReportStream> stream);
  void Shut();

  // Goes out with the next message.
  void SayStatus(v1::NodeStatus status);

  // Starts a write if none is under way and enough frames wait; with `flush`, one frame or a status is
  // enough.
  void SendIfIdle(bool flush);

  // For other writes on the stream. Claim: false while any write is under way. Release: the write has
  // completed.
  bool Claim();
  void Release();
  bool claimed() const;

  std::uint64_t messages() const { return messages_.load(std::memory_order_relaxed); }  // of frames, written

 private:
  bool Write(ReportStream& stream);
  // Whether there was one to say; false leaves the request without.
  bool TakeStatus();

  Spool& spool_;
  const runtime::Clock& clock_;
  const std::size_t frames_per_message_;
  void* const tag_;
  std::atomic<std::uint64_t> messages_ = 0;

  mutable runtime::Mutex mutex_;
  std::shared_ptr<ReportStream> stream_ GUARDED_BY(mutex_);  // while open
  bool claimed_ GUARDED_BY(mutex_) = false;                  // from before a write to its completion
  std::optional<v1::NodeStatus> status_ GUARDED_BY(mutex_);  // that has not gone out

  // Only the thread that holds the claim uses it; reused for each message.
  v1::ReportRequest request_;
  estimate::TupleFrame taken_;
};

}  // namespace tributary::link
