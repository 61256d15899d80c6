// What is known of the runs, for whoever asks, from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/run/run_view.h"
#include "core/runtime/mutex.h"

namespace tributary {

// NotFound, with a hint where the names are.
absl::Status NoSuchRun(std::string_view run);

// Thread-safe. Holds the latest view of each run, in the order in which they were started.
class RunBoard {
 public:
  using RunList = std::vector<std::shared_ptr<const RunView>>;

  // Is called without arguments whenever something changed, on the coordinator's thread; returns at once.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnChange() = 0;
  };

  void Publish(RunView view);
  RunList Runs() const;
  // Null: no run of that name.
  std::shared_ptr<const RunView> Find(std::string_view name) const;

  void Add(std::weak_ptr<Listener> listener);

 private:
  mutable Mutex mutex_;
  RunList runs_ GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Listener>> listeners_ GUARDED_BY(mutex_);
};

}  // namespace tributary
