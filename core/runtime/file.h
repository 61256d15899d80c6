// Reads and replaces whole files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::runtime {

// Errors name the path: NotFound, PermissionDenied, FailedPrecondition for a directory, ResourceExhausted for
// more than `max_bytes`, Unavailable for a read that fails. FailedPrecondition also for a pipe or a device
// outside /dev: nobody may ever write into a named pipe.
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t max_bytes = std::size_t{1} << 30);

// Replaces the file as a whole: writes beside it, syncs, renames. After a crash the file has the old or the
// new content. At no moment may anybody read it beyond `mode`. Errors as ReadFile; ResourceExhausted for a
// full disk.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode = 0644);

// Whether WriteFileAtomically can write there: the file's folder exists and is writable, or the device is.
// Errors begin with the path: NotFound, PermissionDenied; FailedPrecondition where the folder is a file or
// `path` is a folder.
absl::Status CheckFolderOf(const std::string& path);

}  // namespace tributary::runtime
