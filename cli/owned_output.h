// Files that a command, often run as root, makes for a daemon that is not.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::cli {

// WriteOutput. As root, the file then belongs to the owner of its folder. Errors: also PermissionDenied, it
// cannot be given away.
absl::Status WriteForFolderOwner(const std::string& path, std::string_view content, mode_t mode);

// Gives a file or a folder to the owner of the folder that it lies in. Does nothing unless this is root.
absl::Status GiveToFolderOwner(const std::string& path);

// The same of a folder and all that is in it.
absl::Status GiveTreeToFolderOwner(const std::string& folder);

}  // namespace tributary::cli
