// Where runs live: one folder with an SQLite database and the files that it names.
//
//   lock  tributary.db  models/RUN.ROUND.safetensors  models/RUN.ROUND.state  submissions/NUMBER[.log]
//
// The database alone says what is true. A file is written, synced and in place before the transaction that
// names it, and removed after the transaction that forgets it; files that nothing names are removed at the
// next Open. So a crash at any moment leaves the state before or after a change.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/database.h"
#include "aggregator/store/durable_file.h"
#include "aggregator/store/records.h"
#include "aggregator/store/store_lock.h"
#include "aggregator/store/store_step.h"
#include "aggregator/store/update_log.h"

namespace tributary::store {

// One thread at a time, but for NewSubmission.
//
// Errors: ResourceExhausted: the disk is full. DataLoss: what is on the disk is not what was written.
// Unavailable: input or output failed. Nothing was changed then. NotFound: no such run or model.
class Store {
 public:
  // Creates the folder if its parent exists. FailedPrecondition: another process uses the store, or a newer
  // version of this program has written it. DataLoss: the database is damaged or a file is missing; nothing
  // is changed then.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& folder, StoreStepHook hook = {});

  // What Open needs of the place, without changing anything: the folder can be written to, or made. Errors
  // begin with the folder: NotFound, PermissionDenied; InvalidArgument where a file is in the way.
  static absl::Status CheckPlace(const std::string& folder);

  // In the order in which they were started.
  absl::StatusOr<std::vector<RunRecord>> Runs();
  // With its initial model, whose file is given. AlreadyExists: a run of that name.
  absl::Status AddRun(const RunRecord& run, ModelRecord model, DurableFile file);
  absl::Status SaveDocument(std::string_view run, std::string_view document);

  // A file for a large update that is arriving. Thread-safe.
  absl::StatusOr<DurableFile> NewSubmission();
  // Puts the elements of updates that have arrived together on the disk, by one sync for the small ones.
  // Returns where each is; what AddSubmissions does not name then is removed with the round's others.
  absl::StatusOr<std::vector<FileFacts>> Stage(std::string_view run, std::span<ArrivedUpdate> updates);
  // Keeps them, all or none.
  absl::Status AddSubmissions(std::string_view run, std::span<const SubmissionRecord> submissions);
  // In the order in which they were added.
  absl::StatusOr<std::vector<SubmissionRecord>> Submissions(std::string_view run);
  // Forgets them all, together with the run's document and a line of history.
  absl::Status DropSubmissions(std::string_view run, std::string_view document, const HistoryRecord& line);

  absl::StatusOr<DurableFile> NewModel(std::string_view run, std::uint32_t round);
  absl::StatusOr<DurableFile> NewStrategyState(std::string_view run, std::uint32_t round);
  // The end of a round: its model is the present one, its submissions are forgotten, its line of history
  // begins. `keep_models`: older ones than so many are removed, but for the initial one; 0: none is.
  absl::Status CommitRound(std::string_view run, std::string_view document, ModelRecord model,
                           DurableFile file, std::optional<DurableFile> strategy_state,
                           const HistoryRecord& line, std::uint32_t keep_models);
  // The run's only model from now on, of which it is the record; the others are removed.
  absl::Status ReplaceModels(std::string_view run, std::string_view document, ModelRecord model,
                             DurableFile file);
  // Makes an earlier model the present one; the submissions are forgotten. NotFound: no such model.
  absl::Status RollBack(std::string_view run, std::uint32_t round, std::string_view document,
                        const HistoryRecord& line);

  // Replaces the document of the line that CommitRound wrote for that round, which now has its evaluation.
  absl::Status AmendHistory(std::string_view run, std::uint32_t round, std::string_view document);

  // The document of the line that CommitRound wrote for that round. NotFound: there is none.
  absl::StatusOr<std::string> CommittedLine(std::string_view run, std::uint32_t round);

  // NotFound: the run has no model of that round, or it is no longer kept.
  absl::StatusOr<ModelRecord> Model(std::string_view run, std::uint32_t round);

  absl::StatusOr<CheckedReader> Read(const FileFacts& file) const;

  const std::string& folder() const { return folder_; }

 private:
  Store(std::string folder, StoreLock lock, Database database, StoreStepHook hook);
  absl::Status CheckFiles();
  absl::StatusOr<std::vector<FileFacts>> NamedFiles();
  void Remove(const std::vector<std::string>& names);

  absl::StatusOr<Transaction> Begin();
  absl::StatusOr<Statement> Change(std::string_view sql);
  absl::Status InsertModel(std::string_view run, const ModelRecord& model);
  absl::Status InsertHistory(std::string_view run, const HistoryRecord& line, bool committed);
  // Runs a DELETE that returns the names of two files.
  absl::StatusOr<std::vector<std::string>> Forget(std::string_view sql, std::string_view run,
                                                  std::int64_t parameter);
  absl::StatusOr<std::vector<std::string>> ForgetSubmissions(std::string_view run);
  absl::StatusOr<std::vector<std::string>> ForgetModels(std::string_view run, std::uint32_t keep);
  absl::Status UpdateRun(std::string_view run, std::string_view document,
                         std::optional<std::uint32_t> model_round);
  absl::Status Commit(Transaction& transaction);

  std::string folder_;
  StoreLock lock_;
  Database database_;
  StoreStepHook hook_;
  std::atomic<std::uint64_t> next_submission_ = 0;
  std::map<std::string, UpdateLog, std::less<>> logs_;  // of the rounds under way, by run
};

}  // namespace tributary::store
