// One Report stream on a completion queue: reads, offers, answers.
#pragma once

#include <grpcpp/support/async_stream.h>

#include <cstdint>
#include <optional>

#include "aggregator/server/counted_call.h"
#include "aggregator/server/ingest_queue.h"
#include "aggregator/server/report_session.h"
#include "core/wire/kept_room.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::server {

// The queue's thread only. Deletes itself after its last completion. Has one read outstanding, unless the
// peer has too many unread refusals, and one write at most.
class ReportCall {
 public:
  // Waits on the queue for a stream to begin, then for the next one.
  static void Listen(IngestQueue& queue);

  // Acknowledges accepted frames; if a write is under way, right after it.
  void Answer();
  // Reads the next message, unless the peer must first read its refusals.
  void ReadOn();
  // Ends the stream after the write under way. The first status counts.
  void End(absl::Status status);
  void End(const StreamRefusal& refusal);

  // Ends the stream if the policy in force no longer admits it.
  void CheckAccess();

  // Ends a stream without a hello in time, or that was superseded. Says that a node came, if the log's limit
  // did not allow it then.
  void CheckUp(std::int64_t now_steady_ns);

  // Ends a stream without a hello in favour of a newer one.
  void EndSilent();

  ReportSession& session() { return *session_; }
  // Whose share of places it uses.
  const std::string& peer() const { return peer_; }
  bool has_place() const { return has_place_; }

 private:
  explicit ReportCall(IngestQueue& queue);
  ~ReportCall();

  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);

  void Read();
  // What has come; the reason why the stream has to end.
  std::optional<StreamRefusal> TakeMessage(fusion::FusionTime now);
  void FinishIfDue();
  void DeleteIfDone();
  void SayThatItCame();
  // `delivered`: the peer could receive the status.
  void SayThatItLeft(bool delivered);

  IngestQueue& queue_;
  IngestContext& shared_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  std::optional<CountedCall> counted_;
  std::string peer_;
  bool has_place_ = false;
  std::optional<ReportSession> session_;
  std::int64_t started_steady_ns_ = 0;
  bool refused_ = false;  // set by this side after the admission
  bool said_that_it_came_ = false;
  std::int64_t tried_to_say_ns_ = 0;

  // Raw, so that a message that does not parse differs from the end of the stream.
  grpc::ByteBuffer incoming_;
  v1::ReportRequest request_;  // reused
  wire::KeptRoom request_room_;
  v1::ReportResponse response_;  // reused
  std::optional<absl::Status> ending_;
  bool registered_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool finishing_ = false;
  bool finished_ = false;

  Completion started_ = [this](bool ok) { OnStarted(ok); };
  Completion read_ = [this](bool ok) { OnRead(ok); };
  Completion written_ = [this](bool ok) { OnWritten(ok); };
  Completion finish_ = [this](bool ok) { OnFinished(ok); };
};

}  // namespace tributary::server
