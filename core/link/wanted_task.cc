#include "core/link/wanted_task.h"

#include <utility>

namespace tributary::link {

std::optional<TrainAssignment> WantedTask::Next() {
  runtime::MutexLock lock(mutex_);
  while (!stopped_ && (!task_ || taken_)) changed_.wait(lock);
  if (stopped_) return std::nullopt;
  taken_ = true;
  return TrainAssignment{*task_, withdrawal_.get_token()};
}

void WantedTask::Finish(const wire::TrainTask& task) {
  const runtime::MutexLock lock(mutex_);
  // A newer task came meanwhile: keep it.
  if (task_ && taken_ && task_->SameWork(task)) task_.reset();
}

bool WantedTask::GoesOn(const wire::TrainTask& task) {
  const runtime::MutexLock lock(mutex_);
  waiting_for_.clear();
  if (!task_ || !task_->SameWork(task)) return false;
  task_ = task;
  return true;
}

void WantedTask::Replace(std::optional<wire::TrainTask> task) {
  std::stop_source earlier(std::nostopstate);
  {
    const runtime::MutexLock lock(mutex_);
    task_ = std::move(task);
    taken_ = false;
    earlier = std::exchange(withdrawal_, std::stop_source());
  }
  earlier.request_stop();  // runs the callbacks of cancelled calls
  changed_.notify_all();
}

void WantedTask::KeepOnly(const std::string& run, std::uint32_t round) {
  {
    const runtime::MutexLock lock(mutex_);
    waiting_for_.clear();
    if (!task_ || (task_->run == run && task_->round == round)) return;
  }
  Replace(std::nullopt);
}

bool WantedTask::Wait(const std::string& reason, bool over) {
  bool news = false;
  {
    const runtime::MutexLock lock(mutex_);
    news = std::exchange(waiting_for_, reason) != reason;
    // A round that is paused, or waits for others after a restart, still takes the update under way. A round
    // past its deadline does not.
    if (task_ && clock_.SteadyNs() > task_->deadline_ns) over = true;
  }
  if (over) Replace(std::nullopt);
  return news;
}

void WantedTask::Stop() {
  {
    const runtime::MutexLock lock(mutex_);
    stopped_ = true;
  }
  Replace(std::nullopt);
}

std::string WantedTask::waiting_for() const {
  const runtime::MutexLock lock(mutex_);
  return waiting_for_;
}

}  // namespace tributary::link
