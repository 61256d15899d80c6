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

// Checks the folder for Store::Open without changing anything: it can be written to, or created. Errors begin
// with the folder: NotFound, PermissionDenied; InvalidArgument where a file is in the way.
absl::Status CheckStoreFolder(const std::string& folder);

// Creates what is missing of the folders, and locks the store for this process until the result is destroyed;
// the kernel releases it when the process ends, also by SIGKILL. FailedPrecondition if another process holds
// it (naming that process); else the error of errno.
absl::StatusOr<Descriptor> TakeStoreFolder(const std::string& folder);

}  // namespace tributary::store
