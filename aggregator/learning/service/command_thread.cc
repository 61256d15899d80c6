#include "aggregator/learning/service/command_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/runtime/thread_rank.h"

namespace tributary::learning {

void CommandThread::Start(std::string name, Settle settle) {
  thread_ = std::jthread([this, name = std::move(name), settle = std::move(settle)](std::stop_token stop) {
    runtime::EnterThread(name, runtime::ThreadRank::kBackground);
    std::int64_t next_ns = settle();
    for (bool stopping = false; !stopping;) {
      stopping = stop.stop_requested();
      for (const Command& command : Wait(stop, next_ns)) command();
      next_ns = settle();
    }
  });
}

void CommandThread::Stop() {
  thread_.request_stop();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CommandThread::Post(Command command) {
  {
    const runtime::MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
    if (commands_.size() > 1) return;  // the thread has been woken, or is at work
  }
  changed_.notify_one();
}

std::deque<CommandThread::Command> CommandThread::Wait(const std::stop_token& stop, std::int64_t until_ns) {
  std::deque<Command> commands;
  runtime::MutexLock lock(mutex_);
  const auto due = [this]() REQUIRES(mutex_) { return !commands_.empty(); };
  if (until_ns == kNever) {
    changed_.wait(lock, stop, due);
  } else {
    const auto wait = std::chrono::nanoseconds(std::max<std::int64_t>(0, until_ns - clock_.SteadyNs()));
    changed_.wait_for(lock, stop, wait, due);
  }
  commands.swap(commands_);
  return commands;
}

}  // namespace tributary::learning
