#include "aggregator/store/schema.h"

#include <fmt/format.h>

namespace tributary::store {
namespace {

constexpr std::int64_t kVersion = 2;

constexpr const char* kTables = R"(
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (2);
CREATE TABLE run (
  name TEXT PRIMARY KEY, config TEXT NOT NULL, document BLOB NOT NULL, started_unix_ns INTEGER NOT NULL,
  model_round INTEGER NOT NULL) STRICT;
CREATE TABLE model (
  run TEXT NOT NULL REFERENCES run (name), round INTEGER NOT NULL, sha256 BLOB NOT NULL,
  element_count INTEGER NOT NULL, created_unix_ns INTEGER NOT NULL,
  file TEXT NOT NULL, bytes INTEGER NOT NULL, crc32c INTEGER NOT NULL,
  state_file TEXT NOT NULL, state_bytes INTEGER NOT NULL, state_crc32c INTEGER NOT NULL,
  PRIMARY KEY (run, round)) STRICT;
CREATE TABLE submission (
  number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL REFERENCES run (name), node TEXT NOT NULL,
  document BLOB NOT NULL, file TEXT NOT NULL, bytes INTEGER NOT NULL, crc32c INTEGER NOT NULL,
  offset INTEGER NOT NULL) STRICT;
CREATE TABLE history (
  number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL REFERENCES run (name), round INTEGER NOT NULL,
  revision INTEGER NOT NULL, committed INTEGER NOT NULL, evaluated INTEGER NOT NULL, document BLOB NOT NULL) STRICT;
CREATE INDEX submission_of_run ON submission (run);
CREATE INDEX history_of_run ON history (run, number);
CREATE INDEX history_of_round ON history (run, round);
CREATE UNIQUE INDEX history_changes ON history (run, revision);
CREATE INDEX history_committed ON history (run, number) WHERE committed = 1;
CREATE INDEX history_evaluated ON history (run, number) WHERE evaluated = 1;
)";

absl::StatusOr<std::int64_t> Query(Database& database, std::string_view sql) {
  absl::StatusOr<Statement> statement = database.Prepare(sql);
  if (!statement.ok()) return statement.status();
  absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  return *row ? statement->Integer(0) : 0;
}

}  // namespace

absl::Status PrepareTables(Database& database) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(database);
  if (!transaction.ok()) return transaction.status();
  const auto tables = Query(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'");
  if (!tables.ok()) return tables.status();
  if (*tables == 0) {
    absl::Status status = database.Execute(kTables);
    return status.ok() ? transaction->Commit() : status;
  }
  const auto version = Query(database, "SELECT version FROM schema_version");
  if (!version.ok()) return version.status();
  if (*version != kVersion) {
    return absl::FailedPreconditionError(fmt::format(
        "the store has format {}, this program keeps format {}; nothing was changed. Start the release "
        "that wrote it, or move the folder away to begin with an empty store",
        *version, kVersion));
  }
  return absl::OkStatus();
}

}  // namespace tributary::store
