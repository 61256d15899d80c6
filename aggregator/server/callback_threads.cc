#include "aggregator/server/callback_threads.h"

#include <grpc/grpc.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/version_info.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "core/runtime/mutex.h"
#include "core/runtime/thread_rank.h"

// Another version may get its queue otherwise. Compare its src/cpp/common/completion_queue_cc.cc.
static_assert(GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51);

namespace tributary::server {
namespace {

// As many threads as gRPC has itself.
unsigned ThreadCount() { return std::clamp(std::thread::hardware_concurrency() / 2, 2U, 16U); }

// A queue that polls no socket: an operation is done when the thread that polls has read or written.
grpc_completion_queue* MakeQueue() {
  const grpc_completion_queue_attributes attributes{GRPC_CQ_CURRENT_VERSION, GRPC_CQ_NEXT,
                                                    GRPC_CQ_NON_POLLING, nullptr};
  return grpc_completion_queue_create(grpc_completion_queue_factory_lookup(&attributes), &attributes,
                                      nullptr);
}

void RunCallbacks(grpc_completion_queue* queue) {
  runtime::EnterThread("callbacks", runtime::ThreadRank::kBackground);
  while (true) {
    const grpc_event event = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr);
    if (event.type == GRPC_QUEUE_SHUTDOWN) return;
    if (event.type != GRPC_OP_COMPLETE) continue;
    auto* const callback = static_cast<grpc_completion_queue_functor*>(event.tag);
    callback->functor_run(callback, event.success);
  }
}

class CallbackThreads {
 public:
  CallbackThreads() {
    for (unsigned i = 0; i < ThreadCount(); ++i) threads_.emplace_back(RunCallbacks, queue_.cq());
  }
  // Call after the queue's last operation.
  ~CallbackThreads() { queue_.Shutdown(); }

  grpc::CompletionQueue& queue() { return queue_; }

 private:
  grpc::CompletionQueue queue_{MakeQueue()};
  std::vector<std::jthread> threads_;  // end before the queue
};

// gRPC wants one queue for all servers of a process.
class SharedCallbackThreads {
 public:
  grpc::CompletionQueue& Take() {
    const runtime::MutexLock lock(mutex_);
    if (users_++ == 0) threads_ = std::make_unique<CallbackThreads>();
    return threads_->queue();
  }
  void GiveBack() {
    const runtime::MutexLock lock(mutex_);
    if (--users_ == 0) threads_.reset();
  }
  bool run() const {
    const runtime::MutexLock lock(mutex_);
    return users_ > 0;
  }

 private:
  mutable runtime::Mutex mutex_;
  std::size_t users_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<CallbackThreads> threads_ GUARDED_BY(mutex_);
};

SharedCallbackThreads& OfThisProcess() {
  static SharedCallbackThreads shared;
  return shared;
}

}  // namespace

bool CallbackThreadsRun() { return OfThisProcess().run(); }

}  // namespace tributary::server

namespace grpc {

CompletionQueue* CompletionQueue::CallbackAlternativeCQ() {
  return &tributary::server::OfThisProcess().Take();
}

void CompletionQueue::ReleaseCallbackAlternativeCQ(CompletionQueue*) {
  tributary::server::OfThisProcess().GiveBack();
}

}  // namespace grpc
