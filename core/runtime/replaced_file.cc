#include "core/runtime/replaced_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/runtime/descriptor.h"
#include "core/status/macros.h"

namespace tributary::runtime {
namespace {

absl::Status FromErrno(int error, std::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(error, fmt::format("{}: cannot {}", path, action));
}

// `path` is named in errors.
absl::Status WriteAll(int file, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno(errno, "write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteInto(const FilePlace& place, std::string_view content, const std::string& path) {
  const int follow = place.kind == FilePlace::Kind::kOpened ? 0 : O_NOFOLLOW;
  Descriptor file(openat(place.folder.get(), place.name.c_str(), O_WRONLY | O_CLOEXEC | follow));
  if (!file.open()) return FromErrno(errno, "open", path);
  RETURN_IF_ERROR(WriteAll(file.get(), content, path));
  return file.Close() == 0 ? absl::OkStatus() : FromErrno(errno, "close", path);
}

// Before the file has its name: then nobody else can have put another one there.
absl::Status Give(int file, const FilePlace& place, FileOwner owner, const std::string& path) {
  if (owner == FileOwner::kWriter || geteuid() != 0) return absl::OkStatus();
  struct stat about {};
  const bool before = owner == FileOwner::kAsBefore &&
                      fstatat(place.folder.get(), place.name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0;
  if (!before && fstat(place.folder.get(), &about) != 0) return FromErrno(errno, "read the folder of", path);
  return fchown(file, about.st_uid, about.st_gid) == 0 ? absl::OkStatus()
                                                       : FromErrno(errno, "give away", path);
}

absl::Status WriteNew(const FilePlace& place, const std::string& name, std::string_view content, mode_t mode,
                      FileOwner owner, const std::string& path) {
  Descriptor file(
      openat(place.folder.get(), name.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
  if (!file.open()) return FromErrno(errno, "create", path);
  RETURN_IF_ERROR(WriteAll(file.get(), content, path));
  RETURN_IF_ERROR(Give(file.get(), place, owner, path));
  if (fsync(file.get()) != 0) return FromErrno(errno, "sync", path);
  return file.Close() == 0 ? absl::OkStatus() : FromErrno(errno, "close", path);
}

}  // namespace

absl::Status ReplaceFile(const FilePlace& place, std::string_view content, mode_t mode, FileOwner owner,
                         const std::string& path) {
  if (place.kind != FilePlace::Kind::kFile) return WriteInto(place, content, path);
  const int folder = place.folder.get();
  const std::string beside = fmt::format("{}.{}.tmp", place.name, getpid());
  unlinkat(folder, beside.c_str(), 0);  // what a crash has left, whoever may read it
  absl::Status status = WriteNew(place, beside, content, mode, owner, path);
  if (status.ok() && renameat(folder, beside.c_str(), folder, place.name.c_str()) != 0) {
    status = FromErrno(errno, "replace", path);
  }
  if (!status.ok()) {
    unlinkat(folder, beside.c_str(), 0);
    return status;
  }
  // The rename itself must survive a crash: sync the folder.
  const Descriptor directory(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.open() || fsync(directory.get()) != 0) return FromErrno(errno, "sync the folder of", path);
  return absl::OkStatus();
}

absl::Status CheckReplaceable(const FilePlace& place, const std::string& path) {
  const int folder = place.folder.get();
  if (place.kind != FilePlace::Kind::kFile) {
    const bool writable = faccessat(folder, place.name.c_str(), W_OK, 0) == 0;
    return writable ? absl::OkStatus() : FromErrno(errno, "be written", path);
  }
  struct stat about {};
  if (fstatat(folder, place.name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode)) {
    return absl::FailedPreconditionError(path + ": is a folder, expected a file");
  }
  if (faccessat(folder, ".", W_OK | X_OK, 0) != 0) return FromErrno(errno, "be written: its folder", path);
  return absl::OkStatus();
}

}  // namespace tributary::runtime
