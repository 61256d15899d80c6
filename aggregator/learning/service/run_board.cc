#include "aggregator/learning/service/run_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary {

absl::Status NoSuchRun(std::string_view run) {
  return absl::NotFoundError(
      fmt::format("run: there is no run \"{}\"; \"tributary run list\" shows those there are", run));
}

void RunBoard::Publish(RunView view) {
  auto shared = std::make_shared<const RunView>(std::move(view));
  std::vector<std::shared_ptr<Listener>> listeners;
  {
    MutexLock lock(mutex_);
    const auto found =
        std::ranges::find_if(runs_, [&](const auto& run) { return run->name == shared->name; });
    if (found == runs_.end()) {
      runs_.push_back(std::move(shared));
    } else {
      *found = std::move(shared);
    }
    std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
    for (const auto& each : listeners_) {
      if (auto listener = each.lock()) listeners.push_back(std::move(listener));
    }
  }
  for (const auto& listener : listeners) listener->OnChange();
}

RunBoard::RunList RunBoard::Runs() const {
  MutexLock lock(mutex_);
  return runs_;
}

std::shared_ptr<const RunView> RunBoard::Find(std::string_view name) const {
  MutexLock lock(mutex_);
  for (const auto& run : runs_) {
    if (run->name == name) return run;
  }
  return nullptr;
}

void RunBoard::Add(std::weak_ptr<Listener> listener) {
  MutexLock lock(mutex_);
  listeners_.push_back(std::move(listener));
}

}  // namespace tributary
