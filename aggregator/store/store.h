// Stores runs: one folder with an SQLite database and the files that it names.
//
//   lock  tributary.db  models/RUN.ROUND.safetensors  models/RUN.ROUND.state  submissions/NUMBER[.log]
//   orphaned/  reserve
//
// The database is the truth. A file is written, synced and in place before the transaction that names it, and
// is removed after the transaction that forgets it. So a crash at any moment leaves the state before or after
// a change. Open removes unfinished files and updates that were never answered. It moves all other files that
// nothing names to orphaned/.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/database.h"
#include "aggregator/store/durable_file.h"
#include "aggregator/store/records.h"

namespace tributary::store {

// One thread at a time, except for NewSubmission.
//
// Errors, without effect: ResourceExhausted: the disk is full. DataLoss: the disk does not have what was
// written. Unavailable: input or output failed. NotFound: no such run or model.
class Store {
 public:
  // Creates the folder if its parent exists. FailedPrecondition: another process uses the store, a newer
  // version of this program has written it, or the folder is neither a store nor empty. DataLoss: the
  // database is damaged or a file is missing; nothing is changed then.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& folder, StoreStepHook hook = {});

  // What Open would say, without a change to the folder. It reads no files of a store that is in use: they
  // come and go with every round, and its aggregator has checked them. On a full disk it does not read the
  // database: that takes space, which Open has in reserve.
  static absl::Status Check(const std::string& folder);

  // In the order of their start.
  absl::StatusOr<std::vector<RunRecord>> Runs();
  // Adds a run with its initial model's file. AlreadyExists: a run of that name.
  absl::Status AddRun(const RunRecord& run, ModelRecord model, DurableFile file);
  // Forgets the run, its models, submissions and history. Uses the reserve if the disk is full. NotFound: no
  // such run.
  absl::Status DeleteRun(std::string_view run);
  absl::Status SaveDocument(std::string_view run, std::string_view document);

  // A file for a large update that is arriving. Thread-safe.
  absl::StatusOr<DurableFile> NewSubmission();
  // Writes the elements of updates that arrived together, with one sync for the small ones. Returns where
  // each is. If AddSubmissions does not name one, it is removed with the round's others.
  absl::StatusOr<std::vector<FileFacts>> Stage(std::string_view run, std::span<ArrivedUpdate> updates);
  // Adds all of them in one transaction, or none.
  absl::Status AddSubmissions(std::string_view run, std::span<const SubmissionRecord> submissions);
  // In the order of their addition.
  absl::StatusOr<std::vector<SubmissionRecord>> Submissions(std::string_view run);
  // Forgets them all, and writes the run's document and a line of history in the same transaction.
  absl::Status DropSubmissions(std::string_view run, std::string_view document, const HistoryRecord& line);

  absl::StatusOr<DurableFile> NewModel(std::string_view run, std::uint32_t round);
  absl::StatusOr<DurableFile> NewStrategyState(std::string_view run, std::uint32_t round);
  // Ends a round: makes its model the present one, forgets its submissions, and writes its line of history.
  // `keep_models`: keeps this many models and the initial one; 0: all.
  absl::Status CommitRound(std::string_view run, std::string_view document, ModelRecord model,
                           DurableFile file, std::optional<DurableFile> strategy_state,
                           const HistoryRecord& line, std::uint32_t keep_models);
  // Makes this the run's only model and removes the others.
  absl::Status ReplaceModels(std::string_view run, std::string_view document, ModelRecord model,
                             DurableFile file);
  // Makes an earlier model the present one and forgets the submissions. NotFound: no such model.
  absl::Status RollBack(std::string_view run, std::uint32_t round, std::string_view document,
                        const HistoryRecord& line);

  // Replaces the document of the line that CommitRound wrote for that round, to add its evaluation.
  absl::Status AmendHistory(std::string_view run, std::uint32_t round, std::string_view document);

  // The document of the line that CommitRound wrote for that round. NotFound: there is none.
  absl::StatusOr<std::string> CommittedLine(std::string_view run, std::uint32_t round);

  // NotFound: the run has no model of that round, or it was removed.
  absl::StatusOr<ModelRecord> Model(std::string_view run, std::uint32_t round);

  absl::StatusOr<CheckedReader> Read(const FileFacts& file) const;

  const std::string& folder() const { return folder_; }
  // What Open has moved to orphaned/, in its former folder.
  const std::vector<std::string>& orphans() const { return orphans_; }

 private:
  Store(std::string folder, Descriptor lock, Database database, StoreStepHook hook);
  absl::Status CheckFiles();
  absl::Status SetAside(const std::string& name);

  // Commits all of `change`, or nothing; then removes the files that it forgot.
  absl::Status Transact(const std::function<absl::Status()>& change);
  // For `change`: a statement that changes rows. A DELETE returns the names of two files that it forgets.
  template <typename... Values>
  absl::Status Change(std::string_view sql, const Values&... values);
  absl::Status InsertModel(std::string_view run, const ModelRecord& model);
  absl::Status InsertHistory(std::string_view run, const HistoryRecord& line, bool committed);
  // nullopt: the model stays.
  absl::Status UpdateRun(std::string_view run, std::string_view document,
                         std::optional<std::uint32_t> model_round);
  // For `change`: forgets the submissions and updates the run.
  absl::Status EndRound(std::string_view run, std::string_view document,
                        std::optional<std::uint32_t> model_round);

  std::string folder_;
  Descriptor lock_;
  Database database_;
  StoreStepHook hook_;
  std::vector<std::string> orphans_;
  std::atomic<std::uint64_t> next_submission_ = 0;
  std::set<std::string> forgotten_;  // files of this transaction; the small updates of a round share one
  std::map<std::string, UpdateLog, std::less<>> logs_;  // the logs of the present rounds, by run
};

}  // namespace tributary::store
