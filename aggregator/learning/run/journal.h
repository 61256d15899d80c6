// What a run stores before anybody is answered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/kept_update.h"
#include "aggregator/learning/run/upload.h"
#include "aggregator/store/store.h"
#include "tributary/v1/run.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// One run's part of the store. One thread at a time. Each function is on the disk when it returns, or has
// changed nothing: then its error is one of the store's.
class Journal {
 public:
  // `keep_models`: Store::CommitRound.
  Journal(store::Store& store, std::string run, std::uint32_t keep_models)
      : store_(store), run_(std::move(run)), keep_models_(keep_models) {}

  absl::Status AddRun(const std::string& config, std::int64_t started_unix_ns, const v1::StoredRun& state,
                      const store::ModelRecord& model, store::DurableFile file);
  absl::Status Save(const v1::StoredRun& state);
  // Updates that have arrived together: one sync for the elements of all. The rules have not seen them yet:
  // what is wrong with the disk is then no more than a reason to try again.
  absl::StatusOr<std::vector<KeptUpdate>> Stage(std::span<const std::unique_ptr<Upload>> uploads);
  // Those that were accepted.
  absl::Status Keep(std::span<const KeptUpdate> updates);
  // A round that changed nothing.
  absl::Status DropRound(const v1::StoredRun& state, const v1::Round& line);
  absl::Status CommitRound(const v1::StoredRun& state, const v1::Round& line, const store::ModelRecord& model,
                           store::DurableFile file, std::optional<store::DurableFile> strategy_state);
  absl::Status RollBack(const v1::StoredRun& state, const v1::Round& line);
  // The committed line of that round, now with its evaluation.
  absl::Status Amend(const v1::Round& line);
  // The run's only model from now on.
  absl::Status ReplaceModel(const v1::StoredRun& state, const store::ModelRecord& model,
                            store::DurableFile file);

  // Lines written or amended by this object.
  std::uint64_t history_changes() const { return history_changes_; }

 private:
  absl::Status Changed(absl::Status status);

  store::Store& store_;
  const std::string run_;
  const std::uint32_t keep_models_;
  std::uint64_t history_changes_ = 0;
};

}  // namespace tributary::learning
