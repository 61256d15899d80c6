#include "aggregator/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "core/status/macros.h"

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

absl::Status Failure(sqlite3* database, int result) {
  const char* file = sqlite3_db_filename(database, "main");
  return absl::Status(CodeOf(result),
                      fmt::format("{}: {}", file == nullptr ? "store" : file, sqlite3_errmsg(database)));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::BindAt(int index, std::int64_t value) {
  bind_result_ |= sqlite3_bind_int64(statement_.get(), index, value);
}

void Statement::BindAt(int index, std::string_view value) {
  bind_result_ |=
      sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::BindAt(int index, Blob value) {
  bind_result_ |=
      sqlite3_bind_blob64(statement_.get(), index, value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT);
}

absl::StatusOr<bool> Statement::Step() {
  if (bind_result_ != SQLITE_OK) return absl::InternalError("a value could not be bound");
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return Failure(database_, result);
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  bind_result_ = SQLITE_OK;
}

std::int64_t Statement::NumberAt(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::Bytes(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

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
  RETURN_IF_ERROR(database.Configure());
  return database;
}

absl::StatusOr<Database> Database::OpenToRead(const std::string& path) {
  return Connect(path, SQLITE_OPEN_READONLY);
}

absl::Status Database::Configure() {
  RETURN_IF_ERROR(Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  ASSIGN_OR_RETURN(Statement check, Prepare("PRAGMA quick_check(1)"));
  ASSIGN_OR_RETURN(const bool found, check.Step());
  if (found && check.Bytes(0) == "ok") return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("{}: is damaged: {}", sqlite3_db_filename(database_.get(), "main"), check.Bytes(0)));
}

absl::StatusOr<Statement> Database::Parse(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result =
      sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (result != SQLITE_OK) return Failure(database_.get(), result);
  return Statement(database_.get(), statement);
}

absl::Status Database::Execute(const std::string& sql) {
  const int result = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : Failure(database_.get(), result);
}

absl::StatusOr<Transaction> Transaction::Begin(Database& database) {
  RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  // SQLite may have rolled back by itself; then nothing is left to do.
  if (database_ != nullptr) database_->Execute("ROLLBACK").IgnoreError();
}

absl::Status Transaction::Commit() {
  RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_ = nullptr;
  return absl::OkStatus();
}

}  // namespace tributary::store
