#include "aggregator/store/store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "aggregator/store/store_folder.h"
#include "aggregator/store/tables.h"
#include "core/status/macros.h"

namespace tributary::store {
namespace {

// An unfinished file, or an update: if the database does not name it, nobody was told that it arrived.
bool IsLeftByACrash(std::string_view folder, std::string_view name) {
  if (name.ends_with(".tmp")) return true;
  if (name.ends_with(".log")) name.remove_suffix(4);
  return folder == kSubmissions && std::ranges::all_of(name, absl::ascii_isdigit);
}

// The files that the database names. DataLoss: one is missing or of another size.
absl::StatusOr<std::set<std::string>> NamedFiles(const std::string& folder, Database& database) {
  ASSIGN_OR_RETURN(const std::vector<FileFacts> named, NamedParts(database));
  std::set<std::string> known;
  for (const FileFacts& file : named) {
    // Checks sizes here; contents are checked when they are read.
    RETURN_IF_ERROR(CheckedReader::Open(folder, file).status());
    known.insert(file.name);
  }
  return known;
}

absl::StatusOr<Database> OpenDatabase(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kDatabase);
  absl::StatusOr<Database> database = Database::Open(path);
  const auto lacks_space = [&] {
    return (absl::IsUnavailable(database.status()) || absl::IsResourceExhausted(database.status())) &&
           !HasSpace(folder);
  };
  if (!lacks_space()) return database;
  GiveUpReserve(folder);
  database = Database::Open(path);
  if (!lacks_space()) return database;
  KeepReserve(folder);
  return absl::UnavailableError(fmt::format("{}: {}: no space is left on this disk; free some", path,
                                            std::string(database.status().message())));
}

}  // namespace

Store::Store(std::string folder, Descriptor lock, Database database, StoreStepHook hook)
    : folder_(std::move(folder)),
      lock_(std::move(lock)),
      database_(std::move(database)),
      hook_(std::move(hook)) {}

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& folder, StoreStepHook hook) {
  ASSIGN_OR_RETURN(Descriptor lock, TakeStoreFolder(folder));
  ASSIGN_OR_RETURN(Database database, OpenDatabase(folder));
  ASSIGN_OR_RETURN(const bool has_tables, HasTables(database));
  if (!has_tables) {
    RETURN_IF_ERROR(CheckNewStore(folder));
    RETURN_IF_ERROR(CreateTables(database));
  }
  RETURN_IF_ERROR(AddIndexes(database));
  auto store =
      std::unique_ptr<Store>(new Store(folder, std::move(lock), std::move(database), std::move(hook)));
  RETURN_IF_ERROR(store->CheckFiles());
  KeepReserve(folder);
  return store;
}

absl::Status Store::Check(const std::string& folder) {
  RETURN_IF_ERROR(CheckStoreFolder(folder));
  if (!HasDatabase(folder) || !HasSpace(folder)) return absl::OkStatus();
  ASSIGN_OR_RETURN(Database database, Database::OpenToCheck(fmt::format("{}/{}", folder, kDatabase)));
  ASSIGN_OR_RETURN(const bool has_tables, HasTables(database));
  if (InUse(folder)) return absl::OkStatus();
  return has_tables ? NamedFiles(folder, database).status() : CheckNewStore(folder);
}

absl::Status Store::CheckFiles() {
  ASSIGN_OR_RETURN(const std::set<std::string> known, NamedFiles(folder_, database_));
  for (const std::string_view folder : {kModels, kSubmissions}) {
    std::error_code error;
    for (const auto& entry :
         std::filesystem::directory_iterator(fmt::format("{}/{}", folder_, folder), error)) {
      const std::string name = entry.path().filename().string();
      std::uint64_t number = 0;
      std::from_chars(name.data(), name.data() + name.size(), number);
      if (folder == kSubmissions) next_submission_ = std::max(next_submission_.load(), number + 1);
      const std::string path = fmt::format("{}/{}", folder, name);
      if (known.contains(path)) continue;
      if (IsLeftByACrash(folder, name)) {
        unlink(entry.path().c_str());
      } else {
        RETURN_IF_ERROR(SetAside(path));
      }
    }
    if (error) return absl::UnavailableError(fmt::format("{}/{}: {}", folder_, folder, error.message()));
  }
  return absl::OkStatus();
}

absl::Status Store::SetAside(const std::string& name) {
  const std::string orphaned = fmt::format("{}/{}", folder_, kOrphaned);
  std::error_code error;
  std::filesystem::create_directory(orphaned, error);
  // Files of both folders stand side by side here: their names differ.
  if (!error) {
    std::filesystem::rename(folder_ + "/" + name, orphaned + name.substr(name.find('/')), error);
  }
  if (error)
    return absl::UnavailableError(
        fmt::format("{}/{}: cannot move to {}: {}", folder_, name, kOrphaned, error.message()));
  orphans_.push_back(name);
  return absl::OkStatus();
}

absl::Status Store::Transact(const std::function<absl::Status()>& change) {
  forgotten_.clear();
  RETURN_IF_ERROR(AskHook(hook_, StoreStep::kBegin));
  const auto change_all = [&]() -> absl::Status {
    RETURN_IF_ERROR(change());
    return AskHook(hook_, StoreStep::kCommit);
  };
  RETURN_IF_ERROR(database_.Transact(change_all));
  for (const std::string& name : forgotten_) {
    if (name.empty() || !AskHook(hook_, StoreStep::kRemoveFile).ok()) continue;
    // The next Open removes what stays.
    unlink((folder_ + "/" + name).c_str());
  }
  return absl::OkStatus();
}

template <typename... Values>
absl::Status Store::Change(std::string_view sql, const Values&... values) {
  RETURN_IF_ERROR(AskHook(hook_, StoreStep::kChangeRow));
  const auto forget = [this](const Row& row) {
    forgotten_.insert({row.Bytes(0), row.Bytes(1)});
    return true;
  };
  return database_.Query(forget, sql, values...).status();
}

absl::Status Store::InsertModel(std::string_view run, const ModelRecord& model) {
  const FileFacts& file = model.file;
  const FileFacts& state = model.strategy_state;
  return Change("INSERT INTO model VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", run, model.round,
                Blob{model.sha256}, model.element_count, model.created_unix_ns, file.name, file.bytes,
                file.crc32c, state.name, state.bytes, state.crc32c);
}

absl::Status Store::InsertHistory(std::string_view run, const HistoryRecord& line, bool committed) {
  return Change(
      "INSERT INTO history (run, revision, round, committed, evaluated, document) "
      "SELECT ?1, coalesce(max(revision), 0) + 1, ?2, ?3, 0, ?4 FROM history WHERE run = ?1",
      run, line.round, committed, Blob{line.document});
}

absl::Status Store::UpdateRun(std::string_view run, std::string_view document,
                              std::optional<std::uint32_t> model_round) {
  const std::int64_t round = model_round ? std::int64_t{*model_round} : -1;
  return Change("UPDATE run SET document = ?2, model_round = IIF(?3 < 0, model_round, ?3) WHERE name = ?1",
                run, Blob{document}, round);
}

absl::Status Store::EndRound(std::string_view run, std::string_view document,
                             std::optional<std::uint32_t> model_round) {
  RETURN_IF_ERROR(Change("DELETE FROM submission WHERE run = ? RETURNING file, ''", run));
  logs_.erase(std::string(run));  // even if the transaction fails: the next update begins another one
  return UpdateRun(run, document, model_round);
}

absl::StatusOr<std::vector<RunRecord>> Store::Runs() {
  const auto read = [](const Row& row) {
    return RunRecord{row.Bytes(0), row.Bytes(1), row.Bytes(2), row.Number(3), row.Number<std::uint32_t>(4)};
  };
  return database_.Query(read,
                         "SELECT name, config, document, started_unix_ns, model_round FROM run "
                         "ORDER BY started_unix_ns, name");
}

absl::Status Store::AddRun(const RunRecord& run, ModelRecord model, DurableFile file) {
  RETURN_IF_ERROR(file.Commit());
  model.file = file.facts();
  return Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(Change("INSERT INTO run VALUES (?, ?, ?, ?, ?)", run.name, run.config, Blob{run.document},
                           run.started_unix_ns, run.model_round));
    return InsertModel(run.name, model);
  });
}

absl::Status Store::DeleteRun(std::string_view run) {
  ASSIGN_OR_RETURN(const std::vector<std::string> found,
                   database_.Query([](const Row& row) { return row.Bytes(0); },
                                   "SELECT name FROM run WHERE name = ?", run));
  if (found.empty()) {
    return absl::NotFoundError(fmt::format("run \"{}\" is not in the store", run));
  }
  const auto forget = [&]() -> absl::Status {
    RETURN_IF_ERROR(Change("DELETE FROM submission WHERE run = ? RETURNING file, ''", run));
    RETURN_IF_ERROR(Change("DELETE FROM model WHERE run = ? RETURNING file, state_file", run));
    RETURN_IF_ERROR(Change("DELETE FROM history WHERE run = ?", run));
    return Change("DELETE FROM run WHERE name = ?", run);
  };
  absl::Status deleted = Transact(forget);
  if (absl::IsResourceExhausted(deleted)) {
    GiveUpReserve(folder_);
    deleted = Transact(forget);
  }
  KeepReserve(folder_);
  RETURN_IF_ERROR(deleted);
  if (const auto log = logs_.find(run); log != logs_.end()) logs_.erase(log);
  return absl::OkStatus();
}

absl::Status Store::SaveDocument(std::string_view run, std::string_view document) {
  return Transact([&] { return UpdateRun(run, document, std::nullopt); });
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
  return Transact([&]() -> absl::Status {
    for (const SubmissionRecord& each : submissions) {
      const FileFacts& file = each.file;
      RETURN_IF_ERROR(
          Change("INSERT INTO submission (run, node, document, file, bytes, crc32c, offset) "
                 "VALUES (?, ?, ?, ?, ?, ?, ?)",
                 run, each.node, Blob{each.document}, file.name, file.bytes, file.crc32c, file.offset));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<SubmissionRecord>> Store::Submissions(std::string_view run) {
  const auto read = [](const Row& row) {
    return SubmissionRecord{row.Bytes(4), row.Bytes(5), ReadPart(row)};
  };
  return database_.Query(read,
                         "SELECT file, bytes, crc32c, offset, node, document FROM submission "
                         "WHERE run = ? ORDER BY number",
                         run);
}

absl::Status Store::DropSubmissions(std::string_view run, std::string_view document,
                                    const HistoryRecord& line) {
  return Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(InsertHistory(run, line, false));
    return EndRound(run, document, std::nullopt);
  });
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
  return Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(InsertModel(run, model));
    RETURN_IF_ERROR(InsertHistory(run, line, true));
    if (keep_models > 0) {
      RETURN_IF_ERROR(
          Change("DELETE FROM model WHERE run = ?1 AND round > 0 AND round NOT IN "
                 "(SELECT round FROM model WHERE run = ?1 ORDER BY round DESC LIMIT ?2) "
                 "RETURNING file, state_file",
                 run, keep_models));
    }
    return EndRound(run, document, model.round);
  });
}

absl::Status Store::ReplaceModels(std::string_view run, std::string_view document, ModelRecord model,
                                  DurableFile file) {
  RETURN_IF_ERROR(file.Commit());
  model.file = file.facts();
  return Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(Change("DELETE FROM model WHERE run = ? AND round != ? RETURNING file, state_file", run,
                           model.round));
    RETURN_IF_ERROR(InsertModel(run, model));
    return UpdateRun(run, document, model.round);
  });
}

absl::Status Store::RollBack(std::string_view run, std::uint32_t round, std::string_view document,
                             const HistoryRecord& line) {
  RETURN_IF_ERROR(Model(run, round).status());
  return Transact([&]() -> absl::Status {
    RETURN_IF_ERROR(InsertHistory(run, line, false));
    return EndRound(run, document, round);
  });
}

absl::Status Store::AmendHistory(std::string_view run, std::uint32_t round, std::string_view document) {
  return Transact([&] {
    return Change(
        "UPDATE history SET document = ?1, evaluated = 1, revision = "
        "(SELECT max(revision) + 1 FROM history WHERE run = ?2) "
        "WHERE run = ?2 AND round = ?3 AND committed = 1",
        Blob{document}, run, round);
  });
}

absl::StatusOr<std::string> Store::CommittedLine(std::string_view run, std::uint32_t round) {
  ASSIGN_OR_RETURN(
      std::vector<std::string> lines,
      database_.Query([](const Row& row) { return row.Bytes(0); },
                      "SELECT document FROM history WHERE run = ? AND round = ? AND committed = 1", run,
                      round));
  if (!lines.empty()) return std::move(lines.front());
  return absl::NotFoundError(fmt::format("run \"{}\": round {} is not committed", run, round));
}

absl::StatusOr<ModelRecord> Store::Model(std::string_view run, std::uint32_t round) {
  ASSIGN_OR_RETURN(
      std::vector<ModelRecord> models,
      database_.Query(ReadModel,
                      fmt::format("SELECT {} FROM model WHERE run = ? AND round = ?", kModelColumns), run,
                      round));
  if (!models.empty()) return std::move(models.front());
  return absl::NotFoundError(fmt::format("run \"{}\": the model of round {} is not kept", run, round));
}

absl::StatusOr<CheckedReader> Store::Read(const FileFacts& file) const {
  return CheckedReader::Open(folder_, file);
}

}  // namespace tributary::store
