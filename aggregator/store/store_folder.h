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
inline constexpr std::string_view kReserve = "reserve";          // a file: KeepReserve

// Whether it has a database that is not an empty file.
bool HasDatabase(const std::string& folder);

// Whether its disk has the space that opening a closed database takes: SQLite makes its log and an index of
// it.
bool HasSpace(const std::string& folder);

// Whether a process holds the store now.
bool InUse(const std::string& folder);

// A store whose database is missing or empty must be new: other people's files are not ours, and a store that
// has lost its database is not an empty store. FailedPrecondition: the folder has files.
absl::Status CheckNewStore(const std::string& folder);

// Checks the folder for Store::Open without changing anything: it can be written to, or created. Errors begin
// with the folder: NotFound, PermissionDenied; InvalidArgument where a file is in the way; FailedPrecondition
// as CheckNewStore.
absl::Status CheckStoreFolder(const std::string& folder);

// Creates what is missing of the folders, for this user only, and locks the store for this process until the
// result is destroyed; the kernel releases it when the process ends, also by SIGKILL. Errors: as
// CheckStoreFolder; FailedPrecondition if another process holds it (naming that process); else that of errno.
absl::StatusOr<Descriptor> TakeStoreFolder(const std::string& folder);

// A deletion is a transaction, so it needs space before it frees any, and so does opening the store.
// KeepReserve occupies 1 MiB of the disk for that, or less if no more fits; it does nothing if that is there.
// GiveUpReserve frees it.
void KeepReserve(const std::string& folder);
void GiveUpReserve(const std::string& folder);

}  // namespace tributary::store
