#include "aggregator/learning/service/submit_call.h"

#include <chrono>
#include <utility>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/peer_check.h"

namespace tributary::learning {

SubmitCall* SubmitCall::Start(Coordinator& coordinator, grpc::CallbackServerContext& context,
                              v1::SubmitUpdateResponse* response) {
  auto call = std::shared_ptr<SubmitCall>(new SubmitCall(coordinator, context, response));
  call->self_ = call;
  call->WatchIdleness();
  call->StartRead(&call->request_);
  return call.get();
}

void SubmitCall::WatchIdleness() {
  // The alarm keeps its function as long as itself, which is as long as the call: a strong reference in it
  // would keep both for ever.
  alarm_.Set(std::chrono::system_clock::now() + std::chrono::nanoseconds(kIdleNs),
             [held = weak_from_this()](bool expired) {
               const std::shared_ptr<SubmitCall> call = held.lock();
               if (call == nullptr) return;
               runtime::MutexLock lock(call->mutex_);
               if (!expired || call->done_) return;
               const std::uint64_t progress = call->progress_;
               if (progress == call->seen_progress_ && !call->waiting_) return call->context_.TryCancel();
               call->seen_progress_ = progress;
               call->WatchIdleness();
             });
}

void SubmitCall::OnReadDone(bool ok) {
  ++progress_;
  if (!ok) return EndOfChunks();
  begun_.upload == nullptr ? TakeHeader() : TakeChunk();
}

void SubmitCall::TakeHeader() {
  if (!request_.has_header() || request_.has_chunk()) {
    return Refuse(
        {SubmissionRefusal::kMalformed, "the first message must carry the header and nothing else"});
  }
  absl::StatusOr<SubmissionHeader> header = HeaderFromWire(request_.header());
  if (!header.ok()) {
    return Refuse({SubmissionRefusal::kMalformed, std::string(header.status().message())});
  }
  if (absl::Status status = CheckPeer(*context_.auth_context(), header->node); !status.ok()) {
    return Refuse({SubmissionRefusal::kIdentity, std::string(status.message())});
  }
  run_ = request_.header().run();
  waiting_ = true;
  coordinator_.BeginUpload(run_, *std::move(header), [call = shared_from_this()](Coordinator::Began began) {
    ++call->progress_;
    call->waiting_ = false;
    if (const auto* answer = std::get_if<Admission>(&began)) return call->Answer(*answer);
    call->begun_ = std::get<BegunUpload>(std::move(began));
    call->StartRead(&call->request_);
  });
}

void SubmitCall::TakeChunk() {
  if (request_.has_header() || !request_.has_chunk()) {
    return Refuse({SubmissionRefusal::kMalformed, "a message behind the first must carry a chunk"});
  }
  if (auto refusal = begun_.upload->Take(ChunkFromWire(request_.chunk()))) return Refuse(*refusal);
  StartRead(&request_);
}

void SubmitCall::EndOfChunks() {
  if (begun_.upload == nullptr) return Refuse({SubmissionRefusal::kMalformed, "the header is missing"});
  if (auto refusal = begun_.upload->Finish()) return Refuse(*refusal);
  waiting_ = true;
  coordinator_.Submit(run_, std::move(begun_),
                      [call = shared_from_this()](const Admission& answer) { call->Answer(answer); });
}

void SubmitCall::Refuse(const UploadRefusal& refusal) {
  coordinator_.counters().CountRefused(refusal.reason);
  // Before the answer: the node may come again at once.
  if (begun_.upload != nullptr) coordinator_.GiveUp(run_, std::move(begun_), refusal.reason);
  // What the store could not keep may be kept later.
  Answer({AdmissionVerdict::kRefused, 0, refusal.reason, refusal.message,
          refusal.reason == SubmissionRefusal::kStore});
}

void SubmitCall::Answer(const Admission& answer) {
  *response_ = AnswerToWire(answer);
  Finish(grpc::Status::OK);
}

void SubmitCall::OnDone() {
  {
    runtime::MutexLock lock(mutex_);
    done_ = true;
  }
  alarm_.Cancel();
  self_.reset();
}

}  // namespace tributary::learning
