#include "core/runtime/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/runtime/descriptor.h"
#include "core/runtime/file_place.h"
#include "core/runtime/replaced_file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::runtime {
namespace {

absl::Status FromErrno(int error, std::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(error, fmt::format("{}: cannot {}", path, action));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  // Pipes of the shell stand in /dev: standard input, and what a process substitution names.
  const bool device = path.starts_with("/dev/");
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | (device ? 0 : O_NONBLOCK)));
  if (!file.open()) return FromErrno(errno, "open", path);
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return FromErrno(errno, "read", path);
  if (S_ISDIR(about.st_mode)) {
    return absl::FailedPreconditionError(path + ": is a directory, expected a file");
  }
  if (!device && !S_ISREG(about.st_mode)) {
    return absl::FailedPreconditionError(path + ": is a pipe or a device, expected a file");
  }
  std::string content;
  if (S_ISREG(about.st_mode)) content.reserve(std::min(static_cast<std::size_t>(about.st_size), max_bytes));
  char block[1 << 16];
  for (;;) {
    const ssize_t got = read(file.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, "read", path);
    if (got == 0) return content;
    if (content.size() + static_cast<std::size_t>(got) > max_bytes) {
      return absl::ResourceExhaustedError(
          fmt::format("{}: larger than the {} bytes allowed", path, max_bytes));
    }
    content.append(block, static_cast<std::size_t>(got));
  }
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode) {
  ASSIGN_OR_RETURN(const FilePlace place,
                   WithContext(path + ": cannot create", FindPlace(path, LastLink::kFollowed)));
  return ReplaceFile(place, content, mode, FileOwner::kWriter, path);
}

absl::Status CheckFolderOf(const std::string& path) {
  ASSIGN_OR_RETURN(const FilePlace place,
                   WithContext(path + ": cannot be written", FindPlace(path, LastLink::kFollowed)));
  return CheckReplaceable(place, path);
}

}  // namespace tributary::runtime
