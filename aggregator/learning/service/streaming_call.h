// What the streaming calls of gRPC's callback API share: how long they live, and an end for idle peers.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "aggregator/access/call_context.h"
#include "core/runtime/mutex.h"

namespace tributary::learning {

// Lives until gRPC is done with it and everyone else has let go of it.
template <class Call, class Reactor>
class StreamingCall : public Reactor, public std::enable_shared_from_this<Call> {
 public:
  template <class... Arguments>
  static std::shared_ptr<Call> Make(Arguments&&... arguments) {
    auto call = std::make_shared<Call>(std::forward<Arguments>(arguments)...);
    call->self_ = call;
    return call;
  }

  void OnDone() override { self_.reset(); }

 private:
  std::shared_ptr<Call> self_;  // until OnDone
};

// A stream of what is new. Whoever has news calls Go, on any thread; one message is under way at a time.
template <class Call, class Response>
class NewsCall : public StreamingCall<Call, grpc::ServerWriteReactor<Response>> {
 public:
  explicit NewsCall(grpc::CallbackServerContext& context) : context_(context) {}

  void OnWriteDone(bool ok) override {
    {
      const runtime::MutexLock lock(mutex_);
      writing_ = false;
      gone_ = gone_ || !ok;
    }
    Go();
  }

  void OnCancel() override {
    {
      const runtime::MutexLock lock(mutex_);
      gone_ = true;
    }
    Go();
  }

 protected:
  // Decides under the lock what to do next, and does it outside of it.
  void Go() {
    std::optional<grpc::Status> end;
    bool idle = false;
    {
      const runtime::MutexLock lock(mutex_);
      if (writing_ || finished_) return;
      if (gone_) {
        end = grpc::Status(grpc::StatusCode::CANCELLED, "the peer has gone");
      } else {
        writing_ = Next(response_, end);
      }
      finished_ = end.has_value();
      idle = !writing_ && !finished_;
    }
    if (idle) return OnIdle();
    if (end) return this->Finish(*end);
    access::CountTold(context_, SizeOf(response_));
    this->StartWrite(&response_);
  }

  runtime::Mutex mutex_;

 private:
  static std::size_t SizeOf(const grpc::ByteBuffer& response) { return response.Length(); }
  static std::size_t SizeOf(const google::protobuf::Message& response) { return response.ByteSizeLong(); }

  // Whether there is news, then in `response`; without news, perhaps how the stream ends.
  virtual bool Next(Response& response, std::optional<grpc::Status>& end) REQUIRES(mutex_) = 0;
  // Without the lock: there was no news, and the stream goes on.
  virtual void OnIdle() {}

  grpc::CallbackServerContext& context_;
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  bool gone_ GUARDED_BY(mutex_) = false;
  Response response_;  // being written
};

// Cancels a call whose peer lets kIdle pass without progress, or that is `too_slow`: it holds one of few
// places. Thread-safe.
class IdleWatch {
 public:
  static constexpr std::chrono::seconds kIdle{20};

  explicit IdleWatch(grpc::CallbackServerContext& context, std::function<bool()> too_slow = nullptr)
      : context_(context), too_slow_(std::move(too_slow)) {}

  // `call` owns this. The alarm keeps its function as long as itself: a strong reference in it would keep
  // both for ever.
  void Start(std::weak_ptr<const void> call) {
    alarm_.Set(std::chrono::system_clock::now() + kLook, [this, call = std::move(call)](bool expired) {
      const std::shared_ptr<const void> held = call.lock();
      if (held == nullptr) return;
      const runtime::MutexLock lock(mutex_);
      if (!expired || stopped_) return;
      const std::uint64_t progress = progress_;
      idle_looks_ = progress == seen_progress_ && !excused_ ? idle_looks_ + 1 : 0;
      seen_progress_ = progress;
      const bool slow = !excused_ && too_slow_ && too_slow_();
      if (slow || idle_looks_ >= kIdleLooks) return context_.TryCancel();
      Start(call);
    });
  }
  void Progress() { ++progress_; }
  // Before Start: what comes first may take twice as long.
  void DoubleFirstPatience() { idle_looks_ = -kIdleLooks; }
  // The peer waits for its turn: that is not its fault.
  void Excuse(bool excused) { excused_ = excused; }
  // Before the context goes.
  void Stop() {
    {
      const runtime::MutexLock lock(mutex_);
      stopped_ = true;
    }
    alarm_.Cancel();
  }

 private:
  static constexpr std::chrono::seconds kLook{5};
  static constexpr int kIdleLooks = kIdle / kLook;

  grpc::CallbackServerContext& context_;
  const std::function<bool()> too_slow_;
  grpc::Alarm alarm_;
  std::atomic<std::uint64_t> progress_ = 0;
  std::atomic<bool> excused_ = false;
  std::uint64_t seen_progress_ = 0;
  int idle_looks_ = 0;
  runtime::Mutex mutex_;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace tributary::learning
