#include "aggregator/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_replace.h"

namespace tributary::store {
namespace {

absl::StatusCode CodeOf(int result) {
  switch (result & 0xff) {  // keep the low byte: the rest gives details of the same error
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kAlreadyExists;
    default:
      return absl::StatusCode::kInternal;
  }
}

std::string FileOf(sqlite3* database) {
  const char* file = sqlite3_db_filename(database, "main");
  return file == nullptr ? "store" : file;
}

constexpr std::string_view kRemedy =
    "; stop the aggregator, move the store away and restore a backup (docs/running.md, \"Back up the "
    "store\")";

absl::Status Failure(sqlite3* database, int result) {
  const absl::StatusCode code = CodeOf(result);
  return absl::Status(code, fmt::format("{}: {}{}", FileOf(database), sqlite3_errmsg(database),
                                        code == absl::StatusCode::kDataLoss ? kRemedy : ""));
}

// Binds copies. Gives SQLite's result.
struct Binder {
  sqlite3_stmt* statement;
  int index;

  int operator()(std::int64_t number) const { return sqlite3_bind_int64(statement, index, number); }
  int operator()(std::string_view text) const {
    return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  int operator()(Blob blob) const {
    return sqlite3_bind_blob64(statement, index, blob.bytes.data(), blob.bytes.size(), SQLITE_TRANSIENT);
  }
};

}  // namespace

std::int64_t Row::NumberAt(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Row::Bytes(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

void Database::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

absl::StatusOr<Database> Database::Connect(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database{std::unique_ptr<sqlite3, Close>(raw)};
  if (raw == nullptr) return absl::ResourceExhaustedError(path + ": no memory to open it");
  if (result != SQLITE_OK) return Failure(raw, result);
  sqlite3_extended_result_codes(raw, 1);
  return database;
}

absl::StatusOr<Database> Database::Open(const std::string& path) {
  ASSIGN_OR_RETURN(Database database, Connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  RETURN_IF_ERROR(
      database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  // Debian's SQLite writes zeros over what is deleted: a deletion would need as much space as it frees.
  RETURN_IF_ERROR(database.Execute("PRAGMA secure_delete = FAST"));
  RETURN_IF_ERROR(database.CheckPages());
  return database;
}

absl::StatusOr<Database> Database::OpenToCheck(const std::string& path) {
  std::string named = path;
  std::error_code ignored;
  if (!std::filesystem::exists(path + "-wal", ignored)) {
    // Else SQLite creates a log and an index of it, and leaves them.
    const std::string whole = std::filesystem::absolute(path, ignored).string();
    named = fmt::format("file://{}?immutable=1",
                        absl::StrReplaceAll(whole, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}));
  }
  ASSIGN_OR_RETURN(Database database, Connect(named, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  RETURN_IF_ERROR(database.CheckPages());
  return database;
}

absl::Status Database::CheckPages() {
  const auto text = [](const Row& row) { return row.Bytes(0); };
  ASSIGN_OR_RETURN(const std::vector<std::string> findings, Query(text, "PRAGMA quick_check(1)"));
  if (findings.size() == 1 && findings[0] == "ok") return absl::OkStatus();
  return absl::DataLossError(fmt::format("{}: is damaged: {}{}", FileOf(database_.get()),
                                         findings.empty() ? std::string() : findings[0], kRemedy));
}

absl::StatusOr<Database> Database::OpenToRead(const std::string& path) {
  return Connect(path, SQLITE_OPEN_READONLY);
}

absl::StatusOr<Database> Database::OpenToCopy(const std::string& path) {
  ASSIGN_OR_RETURN(Database database, Connect(path, SQLITE_OPEN_READWRITE));
  sqlite3_busy_timeout(database.database_.get(), 5000);
  return database;
}

absl::Status Database::Run(std::string_view sql, const std::vector<Value>& values,
                           const std::function<void(const Row&)>& read) {
  while (!sql.empty()) {
    std::size_t length = sql.size();
    if (statement_ == nullptr || sql != sqlite3_sql(statement_.get())) {
      statement_.reset();  // before the next one: it would change the error of that one
      sqlite3_stmt* parsed = nullptr;
      const char* rest = nullptr;
      const int result =
          sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(length), &parsed, &rest);
      statement_.reset(parsed);
      if (result != SQLITE_OK) return Failure(database_.get(), result);
      length = static_cast<std::size_t>(rest - sql.data());
    }
    sql.remove_prefix(length);
    if (statement_ == nullptr) continue;  // only blanks were left
    int index = 0;
    for (const Value& value : values) {
      const int result = std::visit(Binder{statement_.get(), ++index}, value);
      if (result != SQLITE_OK) return Failure(database_.get(), result);
    }
    int result = SQLITE_ROW;
    while ((result = sqlite3_step(statement_.get())) == SQLITE_ROW) read(Row(statement_.get()));
    const absl::Status status = result == SQLITE_DONE ? absl::OkStatus() : Failure(database_.get(), result);
    // A statement that failed would otherwise count as running and block a commit.
    sqlite3_reset(statement_.get());
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status Database::Transact(const std::function<absl::Status()>& change) {
  RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  absl::Status status = change();
  if (status.ok()) status = Execute("COMMIT");
  // SQLite may have rolled back by itself; then nothing is left to do.
  if (!status.ok()) Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace tributary::store
