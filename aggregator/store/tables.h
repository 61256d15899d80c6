// The tables of the store, and their rows as records.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/database.h"
#include "aggregator/store/records.h"

namespace tributary::store {

// False: the database is empty. FailedPrecondition: the tables are another program's, or of another format.
absl::StatusOr<bool> HasTables(Database& database);
// In an empty database.
absl::Status CreateTables(Database& database);

// Adds the indexes that are missing: an earlier release did not know all of them.
absl::Status AddIndexes(Database& database);

// From four columns: file, bytes, crc32c, offset.
FileFacts ReadPart(const Row& row);
// Where the files that the database names stand, and what they contain.
absl::StatusOr<std::vector<FileFacts>> NamedParts(Database& database);

inline constexpr std::string_view kModelColumns =
    "round, sha256, element_count, created_unix_ns, file, bytes, crc32c, state_file, state_bytes, "
    "state_crc32c";
// From kModelColumns.
ModelRecord ReadModel(const Row& row);

}  // namespace tributary::store
