// What is known of the runs, for whoever asks, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/run_record.h"
#include "aggregator/store/store_reader.h"
#include "core/runtime/mutex.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// NotFound, with a hint where the names are.
absl::Status NoSuchRun(std::string_view run);

// What has changed of a run's nodes.
struct ChangedParticipants {
  std::vector<v1::Participant> nodes = {};
  std::vector<std::string> forgotten = {};
  bool everyone = false;  // `nodes` are all there are
};

// Thread-safe. Holds the latest record of each run and of each of its nodes; lines of the history and models
// are read from the store, a page at a time. A reader of a page copies that page.
class RunBoard {
 public:
  using Records = std::vector<std::shared_ptr<const RunRecord>>;

  // Is called whenever that run has changed or is no more, on the coordinator's thread; returns at once.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnChange(const std::string& run) = 0;
  };

  // `most_active`: runs that have not ended, at most.
  RunBoard(std::unique_ptr<store::StoreReader> reader, std::size_t most_active)
      : reader_(std::move(reader)), most_active_(most_active) {}

  // Replaces what is known of the run and of these nodes of it. The listeners are told.
  void Publish(RunRecord record, ChangedParticipants changed = {});

  // The run is no more. The listeners are told.
  void Remove(const std::string& run);

  // In the order in which they were started.
  Records Runs() const;
  // How many runs may be started besides.
  std::uint32_t Room() const;
  // Null: no run of that name.
  std::shared_ptr<const RunRecord> Find(std::string_view name) const;

  // The first `count` nodes after that name, ascending; empty: from the first one on.
  std::vector<v1::Participant> Nodes(std::string_view run, std::string_view after, std::size_t count) const;

  // Pages of the store: lines of the history in the order of events, and models.
  const store::StoreReader& store() const { return *reader_; }

  void Add(std::weak_ptr<Listener> listener);

 private:
  std::vector<std::shared_ptr<Listener>> Listeners() REQUIRES(mutex_);

  struct Entry {
    std::shared_ptr<const RunRecord> record;
    std::map<std::string, v1::Participant, std::less<>> nodes;
  };

  const std::unique_ptr<store::StoreReader> reader_;
  const std::size_t most_active_;
  mutable runtime::Mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_ GUARDED_BY(mutex_);
  std::vector<std::string> order_ GUARDED_BY(mutex_);  // of their starts
  std::vector<std::weak_ptr<Listener>> listeners_ GUARDED_BY(mutex_);
};

}  // namespace tributary::learning
