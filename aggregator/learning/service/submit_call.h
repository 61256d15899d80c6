// One SubmitUpdate stream.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/streaming_call.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// Chunks are checked and written to the store's file on gRPC's thread, one after the other; the coordinator
// decides before the first and after the last. The next chunk is read when the one before has been taken: a
// sender is held back by HTTP/2's flow control.
//
// A sender that lets IdleWatch::kIdle pass without a chunk is cut off: it holds one of the few places for
// uploads.
class SubmitCall final : public StreamingCall<SubmitCall, grpc::ServerReadReactor<v1::SubmitUpdateRequest>> {
 public:
  SubmitCall(Coordinator& coordinator, grpc::CallbackServerContext& context,
             v1::SubmitUpdateResponse* response)
      : coordinator_(coordinator), context_(context), response_(response), idle_(context) {}

  SubmitCall* Start() {
    idle_.Start(weak_from_this());
    StartRead(&request_);
    return this;
  }

  void OnReadDone(bool ok) override {
    idle_.Progress();
    if (!ok) return EndOfChunks();
    begun_.upload == nullptr ? TakeHeader() : TakeChunk();
  }

  void OnDone() override {
    idle_.Stop();
    StreamingCall::OnDone();
  }

 private:
  void TakeHeader() {
    if (!request_.has_header() || request_.has_chunk()) {
      return Refuse(Admission::Refused(SubmissionRefusal::kMalformed,
                                       "the first message must carry the header and nothing else"));
    }
    absl::StatusOr<SubmissionHeader> header = HeaderFromWire(request_.header());
    if (!header.ok()) {
      return Refuse(
          Admission::Refused(SubmissionRefusal::kMalformed, "{}", std::string(header.status().message())));
    }
    if (absl::Status status = CheckPeer(*context_.auth_context(), header->node); !status.ok()) {
      return Refuse(Admission::Refused(SubmissionRefusal::kIdentity, "{}", std::string(status.message())));
    }
    run_ = request_.header().run();
    idle_.Excuse(true);
    coordinator_.BeginUpload(run_, *std::move(header), [call = shared_from_this()](Coordinator::Began began) {
      call->idle_.Progress();
      call->idle_.Excuse(false);
      if (const auto* answer = std::get_if<Admission>(&began)) return call->Answer(*answer);
      call->begun_ = std::get<BegunUpload>(std::move(began));
      call->StartRead(&call->request_);
    });
  }

  void TakeChunk() {
    if (request_.has_header() || !request_.has_chunk()) {
      return Refuse(
          Admission::Refused(SubmissionRefusal::kMalformed, "a message behind the first must carry a chunk"));
    }
    if (auto refusal = begun_.upload->Take(ChunkFromWire(request_.chunk()))) return Refuse(*refusal);
    StartRead(&request_);
  }

  void EndOfChunks() {
    if (begun_.upload == nullptr) {
      return Refuse(Admission::Refused(SubmissionRefusal::kMalformed, "the header is missing"));
    }
    if (auto refusal = begun_.upload->Finish()) return Refuse(*refusal);
    idle_.Excuse(true);
    coordinator_.Submit(run_, std::move(begun_),
                        [call = shared_from_this()](const Admission& answer) { call->Answer(answer); });
  }

  void Refuse(const Admission& refusal) {
    coordinator_.counters().CountRefused(refusal.reason);
    // Before the answer: the node may come again at once.
    if (begun_.upload != nullptr) coordinator_.GiveUp(run_, std::move(begun_), refusal.reason);
    Answer(refusal);
  }

  void Answer(const Admission& answer) {
    *response_ = AnswerToWire(answer);
    Finish(grpc::Status::OK);
  }

  Coordinator& coordinator_;
  grpc::CallbackServerContext& context_;
  v1::SubmitUpdateResponse* const response_;
  v1::SubmitUpdateRequest request_;  // reused
  std::string run_;
  BegunUpload begun_;  // without an upload until the coordinator has admitted it
  IdleWatch idle_;
};

}  // namespace tributary::learning
