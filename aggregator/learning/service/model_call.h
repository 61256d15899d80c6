// A model of the store, streamed to whoever asked for it.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/learning/service/coordinator.h"
#include "core/link/grpc_call.h"
#include "core/parameters/crc32c.h"
#include "core/runtime/mutex.h"

namespace tributary::learning {

// `Response` is FetchModelResponse or ReadModelResponse; `Head` fills what only the first one carries. One
// chunk is in memory at a time; the next is read from the disk when it has been sent. A reader that takes
// none for kIdleNs is cut off: it holds one of the places for open models.
template <class Response>
class ModelCall final : public grpc::ServerWriteReactor<Response>,
                        public std::enable_shared_from_this<ModelCall<Response>> {
 public:
  static constexpr std::int64_t kIdleNs = 20'000'000'000;
  using Head = void (*)(const OpenModel& model, const std::string& run, Response& response);

  // The coordinator's answer is awaited by `Opened`.
  static std::shared_ptr<ModelCall> Make(grpc::CallbackServerContext& context, std::string run,
                                         std::uint64_t offset, Head head) {
    auto call = std::shared_ptr<ModelCall>(new ModelCall(context, std::move(run), offset, head));
    call->self_ = call;
    return call;
  }

  void Opened(absl::StatusOr<OpenModel> model) {
    if (!model.ok()) return this->Finish(link::ToGrpcStatus(model.status()));
    model_.emplace(*std::move(model));
    head_(*model_, run_, response_);
    if (!SkipToOffset()) return;
    WatchIdleness();
    SendNext();
  }

  void OnWriteDone(bool ok) override {
    ++progress_;
    if (!ok) return this->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the reader has gone"));
    response_.Clear();
    SendNext();
  }

  void OnDone() override {
    {
      const runtime::MutexLock lock(mutex_);
      done_ = true;
    }
    alarm_.Cancel();
    self_.reset();
  }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

  ModelCall(grpc::CallbackServerContext& context, std::string run, std::uint64_t offset, Head head)
      : context_(context), run_(std::move(run)), offset_(offset), head_(head) {}

  void WatchIdleness() {
    // Weak, as in SubmitCall.
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::nanoseconds(kIdleNs),
               [held = this->weak_from_this()](bool expired) {
                 const auto call = held.lock();
                 if (call == nullptr) return;
                 const runtime::MutexLock lock(call->mutex_);
                 if (!expired || call->done_) return;
                 const std::uint64_t progress = call->progress_;
                 if (progress == call->seen_progress_) return call->context_.TryCancel();
                 call->seen_progress_ = progress;
                 call->WatchIdleness();
               });
  }

  bool SkipToOffset() {
    if (offset_ > model_->record.file.bytes) {
      this->Finish(grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "offset: behind the end of the file"));
      return false;
    }
    // This is the coordinator's thread: it must not read what is not wanted, only to check it.
    if (absl::Status status = model_->file.Skip(offset_); !status.ok()) {
      this->Finish(link::ToGrpcStatus(status));
      return false;
    }
    return true;
  }

  void SendNext() {
    if (model_->file.remaining() == 0) return this->Finish(grpc::Status::OK);
    std::string& bytes = *response_.mutable_bytes();
    bytes.resize(std::min<std::uint64_t>(kChunkBytes, model_->file.remaining()));
    const absl::StatusOr<std::size_t> got = model_->file.Read(bytes.data(), bytes.size());
    if (!got.ok()) return this->Finish(link::ToGrpcStatus(got.status()));
    bytes.resize(*got);
    response_.set_offset(offset_);
    response_.set_crc32c(parameters::Crc32c(bytes));
    offset_ += *got;
    this->StartWrite(&response_);
  }

  grpc::CallbackServerContext& context_;
  const std::string run_;
  std::uint64_t offset_;
  const Head head_;
  std::shared_ptr<ModelCall> self_;  // until OnDone
  std::optional<OpenModel> model_;
  Response response_;
  grpc::Alarm alarm_;
  std::atomic<std::uint64_t> progress_ = 1;  // chunks
  std::uint64_t seen_progress_ = 0;
  runtime::Mutex mutex_;
  bool done_ GUARDED_BY(mutex_) = false;  // the context is gone
};

}  // namespace tributary::learning
