// One Report stream on a completion queue: reads, offers, answers.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_stream.h>

#include <cstdint>
#include <optional>

#include "aggregator/server/completion.h"
#include "aggregator/server/report_session.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::server {

class IngestQueue;

// The queue's thread only. Deletes itself after its last completion. One read is outstanding at any time,
// unless the peer has more refusals to read than it may; one write at most.
class ReportCall {
 public:
  // Waits on the queue for a stream to begin; after each it waits for the next.
  static void Listen(IngestQueue& queue);

  // Acknowledges what has been taken, unless a write is under way (then it follows).
  void Answer();
  // Reads the next message, unless the peer must first read its refusals.
  void ReadOn();
  // Ends the stream once what is under way has been written. The first status holds.
  void End(absl::Status status);
  void End(const StreamRefusal& refusal);

  // Ends a stream that owes its hello or that has been superseded.
  void CheckUp(std::int64_t now_steady_ns);

  ReportSession& session() { return *session_; }

 private:
  explicit ReportCall(IngestQueue& queue);
  ~ReportCall();

  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);

  void Read();
  void TakeMessage();
  void FinishIfDue();
  void DeleteIfDone();
  void SayThatItCame();
  // `delivered`: the peer was there to hear how the stream ended.
  void SayThatItLeft(bool delivered);
  std::optional<std::string> CertificateName() const;

  IngestQueue& queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  std::optional<ReportSession> session_;
  std::int64_t started_steady_ns_ = 0;
  bool refused_ = false;  // by this side, after it had been admitted

  // Raw, so that a message that does not parse can be told from the end of the stream.
  grpc::ByteBuffer incoming_;
  v1::ReportRequest request_;    // reused
  v1::ReportResponse response_;  // reused
  std::optional<absl::Status> ending_;
  bool registered_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool finishing_ = false;
  bool finished_ = false;

  CompletionOf<&ReportCall::OnStarted> started_{this};
  CompletionOf<&ReportCall::OnRead> read_{this};
  CompletionOf<&ReportCall::OnWritten> written_{this};
  CompletionOf<&ReportCall::OnFinished> finish_{this};
};

}  // namespace tributary::server
