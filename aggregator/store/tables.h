// The tables of the store, and their rows as records.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "aggregator/store/database.h"
#include "aggregator/store/records.h"

namespace tributary::store {

// Creates the tables in an empty database. FailedPrecondition: a newer version of this program has made them.
absl::Status PrepareTables(Database& database);

// From three columns: file, bytes, crc32c.
FileFacts ReadFacts(const Row& row, int column);

inline constexpr std::string_view kModelColumns =
    "round, sha256, element_count, created_unix_ns, file, bytes, crc32c, state_file, state_bytes, "
    "state_crc32c";
// From kModelColumns.
ModelRecord ReadModel(const Row& row);

}  // namespace tributary::store
