// The tables of the store.
#pragma once

#include "absl/status/status.h"
#include "aggregator/store/database.h"

namespace tributary::store {

// Creates the tables in an empty database. FailedPrecondition: a newer version of this program has made them.
absl::Status PrepareTables(Database& database);

}  // namespace tributary::store
