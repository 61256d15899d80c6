#include "aggregator/store/tables.h"

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

// Added to format 2 later; a release that does not know them keeps them up to date all the same.
constexpr const char* kIndexes =
    "CREATE INDEX IF NOT EXISTS model_of_digest ON model (sha256, created_unix_ns)";

// 0 if there is no row.
absl::StatusOr<std::int64_t> FirstNumber(Database& database, std::string_view sql) {
  ASSIGN_OR_RETURN(const std::vector<std::int64_t> numbers,
                   database.Query([](const Row& row) { return row.Number(0); }, sql));
  return numbers.empty() ? 0 : numbers.front();
}

// From three columns: file, bytes, crc32c.
FileFacts ReadFacts(const Row& row, int column) {
  return {row.Bytes(column), row.Number<std::uint64_t>(column + 1), row.Number<std::uint32_t>(column + 2)};
}

}  // namespace

absl::StatusOr<bool> HasTables(Database& database) {
  ASSIGN_OR_RETURN(const std::int64_t tables,
                   FirstNumber(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_version'"));
  if (tables == 0) {
    ASSIGN_OR_RETURN(const std::int64_t others, FirstNumber(database, "SELECT count(*) FROM sqlite_schema"));
    if (others != 0) return absl::FailedPreconditionError("the database is no store's; nothing was changed");
    return false;
  }
  ASSIGN_OR_RETURN(const std::int64_t version, FirstNumber(database, "SELECT version FROM schema_version"));
  if (version == kVersion) return true;
  return absl::FailedPreconditionError(fmt::format(
      "the store has format {}, this program keeps format {}; nothing was changed. Start the release "
      "that wrote it, or move the folder away to begin with an empty store",
      version, kVersion));
}

absl::Status CreateTables(Database& database) {
  return database.Transact([&database] { return database.Execute(kTables); });
}

absl::Status AddIndexes(Database& database) { return database.Execute(kIndexes); }

FileFacts ReadPart(const Row& row) {
  FileFacts facts = ReadFacts(row, 0);
  facts.offset = row.Number<std::uint64_t>(3);
  return facts;
}

absl::StatusOr<std::vector<FileFacts>> NamedParts(Database& database) {
  return database.Query(ReadPart,
                        "SELECT file, bytes, crc32c, 0 FROM model UNION ALL "
                        "SELECT file, bytes, crc32c, offset FROM submission UNION ALL "
                        "SELECT state_file, state_bytes, state_crc32c, 0 FROM model WHERE state_file <> ''");
}

ModelRecord ReadModel(const Row& row) {
  return {row.Number<std::uint32_t>(0),
          row.Bytes(1),
          row.Number<std::uint64_t>(2),
          row.Number(3),
          ReadFacts(row, 4),
          ReadFacts(row, 7)};
}

}  // namespace tributary::store
