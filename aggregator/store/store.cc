#include "aggregator/store/store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "aggregator/store/row.h"
#include "aggregator/store/schema.h"
#include "aggregator/store/store_place.h"
#include "core/runtime/file.h"
#include "core/status/macros.h"

namespace tributary::store {
namespace {

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
  if (errno != EEXIST) return absl::ErrnoToStatus(errno, path + ": cannot create the folder");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return absl::OkStatus();
  return absl::InvalidArgumentError(path + ": is a file, expected a folder");
}

void BindFacts(Statement& statement, int index, const FileFacts& facts) {
  statement.BindText(index, facts.name)
      .Bind(index + 1, static_cast<std::int64_t>(facts.bytes))
      .Bind(index + 2, static_cast<std::int64_t>(facts.crc32c));
}

}  // namespace

Store::Store(std::string folder, StoreLock lock, Database database, StoreStepHook hook)
    : folder_(std::move(folder)),
      lock_(std::move(lock)),
      database_(std::move(database)),
      hook_(std::move(hook)) {}

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& folder, StoreStepHook hook) {
  RETURN_IF_ERROR(MakeFolder(folder));
  absl::StatusOr<StoreLock> lock = StoreLock::Take(folder);
  if (!lock.ok()) return lock.status();
  for (const std::string_view name : {kModels, kSubmissions}) {
    RETURN_IF_ERROR(MakeFolder(fmt::format("{}/{}", folder, name)));
  }
  absl::StatusOr<Database> database = Database::Open(fmt::format("{}/{}", folder, kDatabase));
  if (!database.ok()) return database.status();
  auto store =
      std::unique_ptr<Store>(new Store(folder, *std::move(lock), *std::move(database), std::move(hook)));
  RETURN_IF_ERROR(PrepareTables(store->database_));
  RETURN_IF_ERROR(store->CheckFiles());
  return store;
}

absl::StatusOr<std::vector<FileFacts>> Store::NamedFiles() {
  auto rows = database_.Prepare(
      "SELECT file, bytes, crc32c, 0 FROM model UNION ALL SELECT file, bytes, crc32c, offset FROM submission "
      "UNION ALL SELECT state_file, state_bytes, state_crc32c, 0 FROM model WHERE state_file <> ''");
  if (!rows.ok()) return rows.status();
  std::vector<FileFacts> files;
  for (;;) {
    absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    if (!*row) return files;
    files.push_back(ReadFacts(*rows, 0));
    files.back().offset = static_cast<std::uint64_t>(rows->Integer(3));
  }
}

absl::Status Store::CheckFiles() {
  absl::StatusOr<std::vector<FileFacts>> named = NamedFiles();
  if (!named.ok()) return named.status();
  std::set<std::string> known;
  for (const FileFacts& file : *named) {
    // Checks sizes here; contents are checked when they are read.
    if (auto reader = Read(file); !reader.ok()) return reader.status();
    known.insert(file.name);
  }
  for (const std::string_view folder : {kModels, kSubmissions}) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("{}/{}", folder_, folder), error)) {
      const std::string name = entry.path().filename().string();
      std::uint64_t number = 0;
      std::from_chars(name.data(), name.data() + name.size(), number);
      if (folder == kSubmissions) next_submission_ = std::max(next_submission_.load(), number + 1);
      // Removes files that a crash left between a file and its transaction.
      if (!known.contains(fmt::format("{}/{}", folder, name))) unlink(entry.path().c_str());
    }
    if (error) return absl::UnavailableError(fmt::format("{}/{}: {}", folder_, folder, error.message()));
  }
  return absl::OkStatus();
}

void Store::Remove(const std::vector<std::string>& names) {
  // The small updates of a round share a file.
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    if (name.empty() || !AskHook(hook_, StoreStep::kRemoveFile).ok()) continue;
    // The next Open removes what stays.
    unlink((folder_ + "/" + name).c_str());
  }
}

absl::StatusOr<Statement> Store::Change(std::string_view sql) {
  RETURN_IF_ERROR(AskHook(hook_, StoreStep::kChangeRow));
  return database_.Prepare(sql);
}

absl::Status Store::Commit(Transaction& transaction) {
  RETURN_IF_ERROR(AskHook(hook_, StoreStep::kCommit));
  return transaction.Commit();
}

absl::StatusOr<Transaction> Store::Begin() {
  RETURN_IF_ERROR(AskHook(hook_, StoreStep::kBegin));
  return Transaction::Begin(database_);
}

absl::Status Store::InsertModel(std::string_view run, const ModelRecord& model) {
  auto insert = Change("INSERT INTO model VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  insert->BindText(1, run)
      .Bind(2, std::int64_t{model.round})
      .BindBlob(3, model.sha256)
      .Bind(4, static_cast<std::int64_t>(model.element_count))
      .Bind(5, model.created_unix_ns);
  BindFacts(*insert, 6, model.file);
  BindFacts(*insert, 9, model.strategy_state);
  return insert->Run();
}

absl::Status Store::InsertHistory(std::string_view run, const HistoryRecord& line, bool committed) {
  auto insert = Change(
      "INSERT INTO history (run, revision, round, committed, evaluated, document) "
      "SELECT ?1, coalesce(max(revision), 0) + 1, ?2, ?3, 0, ?4 FROM history WHERE run = ?1");
  if (!insert.ok()) return insert.status();
  return insert->BindText(1, run)
      .Bind(2, std::int64_t{line.round})
      .Bind(3, std::int64_t{committed})
      .BindBlob(4, line.document)
      .Run();
}

absl::StatusOr<std::vector<std::string>> Store::Forget(std::string_view sql, std::string_view run,
                                                       std::int64_t parameter) {
  auto erase = Change(sql);
  if (!erase.ok()) return erase.status();
  erase->BindText(1, run).Bind(2, parameter);
  std::vector<std::string> names;
  for (;;) {
    absl::StatusOr<bool> row = erase->Step();
    if (!row.ok()) return row.status();
    if (!*row) return names;
    names.push_back(erase->Text(0));
    names.push_back(erase->Text(1));
  }
}

absl::StatusOr<std::vector<std::string>> Store::ForgetSubmissions(std::string_view run) {
  return Forget("DELETE FROM submission WHERE run = ? AND ?2 = 0 RETURNING file, ''", run, 0);
}

absl::StatusOr<std::vector<std::string>> Store::ForgetModels(std::string_view run, std::uint32_t keep) {
  if (keep == 0) return std::vector<std::string>();
  return Forget(
      "DELETE FROM model WHERE run = ?1 AND round > 0 AND round NOT IN (SELECT round FROM model WHERE run = "
      "?1 "
      "ORDER BY round DESC LIMIT ?2) RETURNING file, state_file",
      run, keep);
}

absl::Status Store::UpdateRun(std::string_view run, std::string_view document,
                              std::optional<std::uint32_t> model_round) {
  auto update =
      Change("UPDATE run SET document = ?2, model_round = IIF(?3 < 0, model_round, ?3) WHERE name = ?1");
  if (!update.ok()) return update.status();
  return update->BindText(1, run)
      .BindBlob(2, document)
      .Bind(3, model_round ? std::int64_t{*model_round} : std::int64_t{-1})
      .Run();
}

absl::StatusOr<std::vector<RunRecord>> Store::Runs() {
  auto rows = database_.Prepare(
      "SELECT name, config, document, started_unix_ns, model_round FROM run ORDER BY started_unix_ns, name");
  if (!rows.ok()) return rows.status();
  std::vector<RunRecord> runs;
  for (;;) {
    absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    if (!*row) return runs;
    runs.push_back({rows->Text(0), rows->Text(1), rows->Blob(2), rows->Integer(3),
                    static_cast<std::uint32_t>(rows->Integer(4))});
  }
}

absl::Status Store::AddRun(const RunRecord& run, ModelRecord model, DurableFile file) {
  RETURN_IF_ERROR(file.Commit());
  model.file = file.facts();
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  auto insert = Change("INSERT INTO run VALUES (?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  absl::Status status = insert->BindText(1, run.name)
                            .BindText(2, run.config)
                            .BindBlob(3, run.document)
                            .Bind(4, run.started_unix_ns)
                            .Bind(5, std::int64_t{run.model_round})
                            .Run();
  if (status.ok()) status = InsertModel(run.name, model);
  if (status.ok()) status = Commit(transaction);
  return status;
}

absl::Status Store::SaveDocument(std::string_view run, std::string_view document) {
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  absl::Status status = UpdateRun(run, document, std::nullopt);
  if (status.ok()) status = Commit(transaction);
  return status;
}

absl::StatusOr<DurableFile> Store::NewSubmission() {
  return DurableFile::Create(folder_, fmt::format("{}/{}", kSubmissions, next_submission_++), hook_);
}

absl::StatusOr<std::vector<FileFacts>> Store::Stage(std::string_view run, std::span<ArrivedUpdate> updates) {
  std::vector<std::string_view> small;
  for (const ArrivedUpdate& each : updates) {
    if (!each.file) small.push_back(each.bytes);
  }
  std::vector<FileFacts> parts;
  if (!small.empty()) {
    auto log = logs_.find(run);
    if (log == logs_.end()) {
      ASSIGN_OR_RETURN(
          UpdateLog fresh,
          UpdateLog::Create(folder_, fmt::format("{}/{}{}", kSubmissions, next_submission_++, kLogEnding),
                            hook_));
      log = logs_.emplace(run, std::move(fresh)).first;
    }
    ASSIGN_OR_RETURN(parts, log->second.Append(small));
  }
  std::vector<FileFacts> places;
  auto part = parts.begin();
  for (ArrivedUpdate& each : updates) {
    if (each.file) RETURN_IF_ERROR(each.file->Commit());
    places.push_back(each.file ? each.file->facts() : *part++);
  }
  return places;
}

absl::Status Store::AddSubmissions(std::string_view run, std::span<const SubmissionRecord> submissions) {
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  ASSIGN_OR_RETURN(Statement insert,
                   Change("INSERT INTO submission (run, node, document, file, bytes, crc32c, offset) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?)"));
  for (const SubmissionRecord& each : submissions) {
    insert.BindText(1, run).BindText(2, each.node).BindBlob(3, each.document);
    BindFacts(insert, 4, each.file);
    RETURN_IF_ERROR(insert.Bind(7, static_cast<std::int64_t>(each.file.offset)).Run());
    insert.Reset();
  }
  return Commit(transaction);
}

absl::StatusOr<std::vector<SubmissionRecord>> Store::Submissions(std::string_view run) {
  auto rows = database_.Prepare(
      "SELECT node, document, file, bytes, crc32c, offset FROM submission WHERE run = ? ORDER BY number");
  if (!rows.ok()) return rows.status();
  rows->BindText(1, run);
  std::vector<SubmissionRecord> submissions;
  for (;;) {
    absl::StatusOr<bool> row = rows->Step();
    if (!row.ok()) return row.status();
    if (!*row) return submissions;
    submissions.push_back({rows->Text(0), rows->Blob(1), ReadFacts(*rows, 2)});
    submissions.back().file.offset = static_cast<std::uint64_t>(rows->Integer(5));
  }
}

absl::Status Store::DropSubmissions(std::string_view run, std::string_view document,
                                    const HistoryRecord& line) {
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  auto files = ForgetSubmissions(run);
  absl::Status status = files.status();
  if (status.ok()) status = UpdateRun(run, document, std::nullopt);
  if (status.ok()) status = InsertHistory(run, line, false);
  if (status.ok()) status = Commit(transaction);
  if (!status.ok()) return status;
  Remove(*files);
  logs_.erase(std::string(run));
  return absl::OkStatus();
}

absl::StatusOr<DurableFile> Store::NewModel(std::string_view run, std::uint32_t round) {
  return DurableFile::Create(folder_, fmt::format("{}/{}.{}.safetensors", kModels, run, round), hook_);
}

absl::StatusOr<DurableFile> Store::NewStrategyState(std::string_view run, std::uint32_t round) {
  return DurableFile::Create(folder_, fmt::format("{}/{}.{}.state", kModels, run, round), hook_);
}

absl::Status Store::CommitRound(std::string_view run, std::string_view document, ModelRecord model,
                                DurableFile file, std::optional<DurableFile> strategy_state,
                                const HistoryRecord& line, std::uint32_t keep_models) {
  RETURN_IF_ERROR(file.Commit());
  model.file = file.facts();
  if (strategy_state) {
    RETURN_IF_ERROR(strategy_state->Commit());
    model.strategy_state = strategy_state->facts();
  }
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  absl::Status status = InsertModel(run, model);
  if (status.ok()) status = UpdateRun(run, document, model.round);
  if (status.ok()) status = InsertHistory(run, line, true);
  if (!status.ok()) return status;
  auto submissions = ForgetSubmissions(run);
  if (!submissions.ok()) return submissions.status();
  auto models = ForgetModels(run, keep_models);
  if (!models.ok()) return models.status();
  if (status = Commit(transaction); !status.ok()) return status;
  Remove(*submissions);
  logs_.erase(std::string(run));
  Remove(*models);
  return absl::OkStatus();
}

absl::Status Store::ReplaceModels(std::string_view run, std::string_view document, ModelRecord model,
                                  DurableFile file) {
  RETURN_IF_ERROR(file.Commit());
  model.file = file.facts();
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  auto earlier = Forget("DELETE FROM model WHERE run = ?1 AND round != ?2 RETURNING file, state_file", run,
                        std::int64_t{model.round});
  absl::Status status = earlier.status();
  if (status.ok()) status = InsertModel(run, model);
  if (status.ok()) status = UpdateRun(run, document, model.round);
  if (status.ok()) status = Commit(transaction);
  if (status.ok()) Remove(*earlier);
  return status;
}

absl::Status Store::RollBack(std::string_view run, std::uint32_t round, std::string_view document,
                             const HistoryRecord& line) {
  RETURN_IF_ERROR(Model(run, round).status());
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  auto files = ForgetSubmissions(run);
  absl::Status status = files.status();
  if (status.ok()) status = UpdateRun(run, document, round);
  if (status.ok()) status = InsertHistory(run, line, false);
  if (status.ok()) status = Commit(transaction);
  if (!status.ok()) return status;
  Remove(*files);
  logs_.erase(std::string(run));
  return absl::OkStatus();
}

absl::Status Store::AmendHistory(std::string_view run, std::uint32_t round, std::string_view document) {
  ASSIGN_OR_RETURN(Transaction transaction, Begin());
  auto update = Change(
      "UPDATE history SET document = ?1, evaluated = 1, revision = (SELECT max(revision) + 1 FROM history "
      "WHERE run = ?2) "
      "WHERE run = ?2 AND round = ?3 AND committed = 1");
  if (!update.ok()) return update.status();
  absl::Status status = update->BindBlob(1, document).BindText(2, run).Bind(3, std::int64_t{round}).Run();
  if (status.ok()) status = Commit(transaction);
  return status;
}

absl::StatusOr<std::string> Store::CommittedLine(std::string_view run, std::uint32_t round) {
  ASSIGN_OR_RETURN(
      Statement rows,
      database_.Prepare("SELECT document FROM history WHERE run = ? AND round = ? AND committed = 1"));
  rows.BindText(1, run).Bind(2, std::int64_t{round});
  ASSIGN_OR_RETURN(const bool found, rows.Step());
  if (found) return rows.Blob(0);
  return absl::NotFoundError(fmt::format("run \"{}\": round {} is not committed", run, round));
}

absl::StatusOr<ModelRecord> Store::Model(std::string_view run, std::uint32_t round) {
  ASSIGN_OR_RETURN(Statement rows, database_.Prepare(fmt::format(
                                       "SELECT {} FROM model WHERE run = ? AND round = ?", kModelColumns)));
  rows.BindText(1, run).Bind(2, std::int64_t{round});
  ASSIGN_OR_RETURN(const bool found, rows.Step());
  if (!found) {
    return absl::NotFoundError(fmt::format("run \"{}\": the model of round {} is not kept", run, round));
  }
  return ReadModel(rows);
}

absl::StatusOr<CheckedReader> Store::Read(const FileFacts& file) const {
  return CheckedReader::Open(folder_, file);
}

}  // namespace tributary::store
