// Which folder and which name in it a path means, also for root in a folder that belongs to somebody else.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/runtime/descriptor.h"

namespace tributary::runtime {

// A link in the last part of a path.
enum class LastLink { kFollowed, kRefused };

struct FilePlace {
  enum class Kind {
    kFile,     // there may be none yet, or a folder
    kSpecial,  // a device, a pipe or a socket: it is written into, not replaced
    kOpened,   // the same behind a link without a path, such as /dev/stdout for a pipe
  };

  Descriptor folder;  // opened with O_PATH, so that nobody can exchange it any more
  std::string name;   // in that folder; "." if the path ends with a slash
  Kind kind;
};

// Opens a folder with O_PATH. As root it follows only links that root made in a folder of root: another user
// could lead it to any folder. Errors begin with "folder PATH": NotFound, PermissionDenied;
// FailedPrecondition, it is a file or such a link is on the way.
absl::StatusOr<Descriptor> OpenFolder(const std::string& path);

// Errors do not name the path: as OpenFolder; FailedPrecondition, a link at the end is refused.
absl::StatusOr<FilePlace> FindPlace(const std::string& path, LastLink link);

}  // namespace tributary::runtime
