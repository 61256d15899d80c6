#include "core/runtime/plain_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/runtime/file.h"
#include "core/runtime/file_place.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::runtime {
namespace {

absl::StatusOr<FilePlace> PlainPlace(const std::string& path) {
  ASSIGN_OR_RETURN(FilePlace place, WithContext(path, FindPlace(path, LastLink::kRefused)));
  if (place.kind != FilePlace::Kind::kFile) {
    return absl::FailedPreconditionError(path + ": is a pipe or a device, expected a file");
  }
  return place;
}

}  // namespace

absl::Status WritePlainFile(const std::string& path, std::string_view content, mode_t mode, FileOwner owner) {
  ASSIGN_OR_RETURN(const FilePlace place, PlainPlace(path));
  return ReplaceFile(place, content, mode, owner, path);
}

absl::Status CheckPlainFile(const std::string& path) {
  ASSIGN_OR_RETURN(const FilePlace place, PlainPlace(path));
  return CheckReplaceable(place, path);
}

absl::StatusOr<Descriptor> OpenPlainFile(const std::string& path, int flags, mode_t mode) {
  ASSIGN_OR_RETURN(const FilePlace place, PlainPlace(path));
  Descriptor file(
      openat(place.folder.get(), place.name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode));
  struct stat about {};
  if (!file.open() || fstat(file.get(), &about) != 0) {
    return absl::ErrnoToStatus(errno, path + ": cannot open");
  }
  if (!S_ISREG(about.st_mode)) return absl::FailedPreconditionError(path + ": is not a file");
  return file;
}

absl::StatusOr<std::string> ReadPlainFile(const std::string& path, std::size_t max_bytes) {
  ASSIGN_OR_RETURN(const Descriptor file, OpenPlainFile(path, O_RDONLY));
  return ReadFile(fmt::format("/proc/self/fd/{}", file.get()), max_bytes);
}

}  // namespace tributary::runtime
