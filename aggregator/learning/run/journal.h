// What a run stores before anybody is answered, and the last of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/run_model.h"
#include "aggregator/learning/run/update_file.h"
#include "aggregator/learning/run/upload.h"
#include "aggregator/store/store.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "tributary/v1/run.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// Outlive the runs.
struct RunSurroundings {
  store::Store& store;
  const runtime::Clock& clock;
  std::uint32_t keep_models = 0;  // Store::CommitRound
  bool judged = false;            // models are, on images of the operator
};

// One run's part of the store, with the record of its present model and the last lines of its history. One
// thread at a time. Each function is on the disk when it returns, or has changed nothing: then its error is
// one of the store's.
class Journal {
 public:
  Journal(const RunSurroundings& surroundings, std::string run)
      : surroundings_(surroundings), run_(std::move(run)) {}

  // The run is started when its model is created.
  absl::Status AddRun(const std::string& config, const v1::StoredRun& state, WrittenModel model);
  // After a restart: reads the last lines. DataLoss: the store's last line is damaged.
  absl::Status Reload(const store::ModelRecord& model);
  absl::Status Save(const v1::StoredRun& state);
  // Updates that have arrived together: one sync for the elements of all. The rules have not seen them yet:
  // what is wrong with the disk is then no more than a reason to try again.
  absl::StatusOr<std::vector<KeptUpdate>> Stage(std::span<const std::unique_ptr<Upload>> uploads);
  // Those that were accepted.
  absl::Status Keep(std::span<const KeptUpdate> updates);
  // A round that changed nothing.
  absl::Status DropRound(const v1::StoredRun& state, v1::Round line);
  absl::Status CommitRound(const v1::StoredRun& state, v1::Round line, WrittenModel model,
                           std::optional<store::DurableFile> strategy_state);
  absl::Status RollBack(const v1::StoredRun& state, v1::Round line, const store::ModelRecord& model);
  // Adds it to the committed line of that round; nothing if there is none any more.
  absl::Status AddEvaluation(std::uint32_t round, const v1::Evaluation& evaluation);
  // The run's only model from now on.
  absl::Status ReplaceModel(const v1::StoredRun& state, WrittenModel model);

  // The store takes no update at present; it is tried again with the next one.
  void SayRefused(std::string_view why);
  // Whether the store took the latest update.
  bool takes_updates() const { return !refuses_updates_; }

  const store::ModelRecord& model() const { return model_; }  // the present one
  // Lines of the history; null: none.
  using Line = std::shared_ptr<const v1::Round>;
  const Line& last() const { return last_; }
  const Line& last_committed() const { return last_committed_; }
  const Line& last_evaluated() const { return last_evaluated_; }
  // Lines written or amended by this object.
  std::uint64_t history_changes() const { return history_changes_; }

 private:
  void Note(v1::Round line);

  const RunSurroundings surroundings_;
  const std::string run_;
  store::ModelRecord model_;
  Line last_, last_committed_, last_evaluated_;
  std::uint64_t history_changes_ = 0;
  bool refuses_updates_ = false;
  runtime::LogLimit refusal_lines_{1, 10'000'000'000};  // nodes try again all the time
};

}  // namespace tributary::learning
