// All runs of this aggregator, by name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/run.h"
#include "aggregator/learning/service/run_board.h"
#include "aggregator/learning/service/run_schedule.h"
#include "aggregator/learning/service/upload_pace.h"
#include "aggregator/store/store.h"
#include "core/runtime/clock.h"

namespace tributary::learning {

struct HostingOptions {
  std::string folder;  // of the store
  std::uint32_t keep_models = 0;
  bool judged = false;  // somebody calls AddEvaluation for every RunRecord::to_judge
  std::size_t max_model_bytes = std::size_t{16} << 20;  // of all models that operators are sending
  std::size_t max_runs = 100;                           // that have not ended
  std::chrono::nanoseconds chunk_time = UploadPace::kChunkTime;
};

// Owns the store, the runs in it and the board that shows them. One thread at a time.
class HostedRuns {
 public:
  // Opens the store and goes on with its runs. Errors: those of Store::Open and RestoreRun. The hook is for
  // tests.
  static absl::StatusOr<std::unique_ptr<HostedRuns>> Open(const HostingOptions& options,
                                                          const runtime::Clock& clock,
                                                          store::StoreStepHook hook);

  // The caller may change what it finds: the schedule has it next.
  Run* Find(std::string_view name);                 // null: no run of that name
  absl::StatusOr<Run*> Get(std::string_view name);  // NotFound
  // The first run that can go on and that admits the node; null: none.
  Run* ActiveFor(std::string_view node);
  RunSchedule& schedule() { return schedule_; }
  // Whether the store can be written, as far as published runs say.
  bool healthy() const { return sick_.empty(); }

  // A run of this aggregator's own; the present one, if it was started with the same. AlreadyExists: another
  // one has that name. ResourceExhausted: max_runs have not ended.
  absl::StatusOr<Run*> Start(const std::string& config, const std::string& model);
  // A parent's run, started if it is not here; others of the parent end. AlreadyExists: it has other settings
  // here, or is a run of this aggregator's own. Errors: those of StartRelayedRun.
  absl::StatusOr<Run*> StartRelayed(const RunConfig& config, std::string_view model_file,
                                    const ParentRound& round);

  // Puts a run whose health is an error back to what the store has of it, as a restart would. `failed` is
  // destroyed. Errors: those of RestoreRun; then nothing has changed.
  absl::StatusOr<Run*> Recover(Run& failed);

  // Removes a run that has ended or failed, also from the store and the board; a full disk does not prevent
  // it. NotFound; FailedPrecondition: it has not ended.
  absl::Status Delete(const std::string& name);

  // Puts what has changed of the run on the board; the nodes that it concerns, if it has changed.
  std::optional<ChangedNodes> Publish(Run& run);

  store::Store& store() { return *store_; }
  RunBoard& board() { return board_; }
  const RunBoard& board() const { return board_; }

 private:
  HostedRuns(std::unique_ptr<store::Store> store, std::unique_ptr<store::StoreReader> reader,
             const HostingOptions& options, const runtime::Clock& clock);

  Run& Add(std::unique_ptr<Run> run);
  absl::Status CheckRoomForOneMore();

  const std::unique_ptr<store::Store> store_;
  const RunSurroundings surroundings_;
  const std::size_t max_runs_;
  std::map<std::string, std::unique_ptr<Run>, std::less<>> runs_;
  std::vector<Run*> order_;  // of their starts
  std::deque<Run*> active_;  // the same, without some of those that cannot go on any more
  std::set<const Run*> sick_;
  RunSchedule schedule_;
  RunBoard board_;
};

}  // namespace tributary::learning
