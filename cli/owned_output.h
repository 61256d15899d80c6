// Files that a command, often run as root, makes for a daemon that is not.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/runtime/replaced_file.h"

namespace tributary::cli {

// WritePlainFile and CheckPlainFile for what the command was asked to write (exit status 73).
absl::Status WritePlainOutput(const std::string& path, std::string_view content, mode_t mode,
                              runtime::FileOwner owner = runtime::FileOwner::kWriter);
absl::Status CheckPlainOutput(const std::string& path);

// WritePlainOutput. As root, the file then belongs to the owner of its folder. Errors: also PermissionDenied,
// it cannot be given away.
absl::Status WriteForFolderOwner(const std::string& path, std::string_view content, mode_t mode);

// Gives a file or a folder to the owner of the folder that it lies in. Does nothing unless this is root.
// Errors: FailedPrecondition, it is a link or has another name elsewhere; PermissionDenied.
absl::Status GiveToFolderOwner(const std::string& path);

// The same of a folder that root made, and all that is in it.
absl::Status GiveTreeToFolderOwner(const std::string& folder);

}  // namespace tributary::cli
