// A thread that does what others post to it, in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "core/runtime/clock.h"
#include "core/runtime/mutex.h"

namespace tributary::learning {

// Commands that have come together are one batch; after each batch, and at the time it asks for, `settle` is
// called and returns the steady time at which to call it again. What is queued at Stop is done before.
class CommandThread {
 public:
  using Command = std::function<void()>;
  using Settle = std::function<std::int64_t()>;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // `clock` outlives it.
  explicit CommandThread(const runtime::Clock& clock) : clock_(clock) {}
  ~CommandThread() { Stop(); }

  // `name`: as debuggers and top show it.
  void Start(std::string name, Settle settle);
  void Stop();
  // Any thread; not bounded: each call of a peer has one command in the queue at most.
  void Post(Command command);

 private:
  std::deque<Command> Wait(const std::stop_token& stop, std::int64_t until_ns);

  const runtime::Clock& clock_;
  runtime::Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Command> commands_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace tributary::learning
