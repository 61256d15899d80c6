// The folder of a store: what it contains, and who has it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/durable_file.h"

namespace tributary::store {

inline constexpr std::string_view kDatabase = "tributary.db";
inline constexpr std::string_view kModels = "models";            // a folder
inline constexpr std::string_view kSubmissions = "submissions";  // a folder
inline constexpr std::string_view kOrphaned = "orphaned";        // a folder: what the database does not name

// Checks the folder for Store::Open without changing anything: it can be written to, or created. Errors begin
// with the folder: NotFound, PermissionDenied; InvalidArgument where a file is in the way; FailedPrecondition
// where the folder has no database and is not empty.
absl::Status CheckStoreFolder(const std::string& folder);

// Creates what is missing of the folders, for this user only, and locks the store for this process until the
// result is destroyed; the kernel releases it when the process ends, also by SIGKILL. FailedPrecondition if
// another process holds it (naming that process), or as CheckStoreFolder; else the error of errno.
absl::StatusOr<Descriptor> TakeStoreFolder(const std::string& folder);

}  // namespace tributary::store
