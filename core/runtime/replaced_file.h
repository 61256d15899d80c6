// Replaces the file at a place as a whole, or writes into the device that is there.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/runtime/file_place.h"

namespace tributary::runtime {

// Whom the file belongs to that root writes.
enum class FileOwner {
  kWriter,
  kOfFolder,
  kAsBefore,  // of the file that is replaced; of the folder, if there was none
};

// As WriteFileAtomically. `path` is named in errors.
absl::Status ReplaceFile(const FilePlace& place, std::string_view content, mode_t mode, FileOwner owner,
                         const std::string& path);

// Whether ReplaceFile can write there. Errors: PermissionDenied; FailedPrecondition, it is a folder.
absl::Status CheckReplaceable(const FilePlace& place, const std::string& path);

}  // namespace tributary::runtime
