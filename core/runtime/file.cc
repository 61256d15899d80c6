#include "core/runtime/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/runtime/descriptor.h"

namespace tributary::runtime {
namespace {

absl::Status FromErrno(int error, std::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(error, fmt::format("{}: cannot {}", path, action));
}

// Writes a new file and syncs it, or writes into the device, pipe or socket that is there. `path` is named in
// errors.
absl::Status Write(const std::string& to, bool create, std::string_view content, const std::string& path,
                   mode_t mode) {
  Descriptor file(open(to.c_str(), O_WRONLY | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), mode));
  if (!file.open()) return FromErrno(errno, create ? "create" : "open", path);
  while (!content.empty()) {
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno(errno, "write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (create && fsync(file.get()) != 0) return FromErrno(errno, "sync", path);
  return file.Close() == 0 ? absl::OkStatus() : FromErrno(errno, "close", path);
}

// A device, pipe or socket, which is written into and not replaced.
bool IsSpecial(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status about = std::filesystem::status(path, ignored);
  return std::filesystem::exists(about) && std::filesystem::is_other(about);
}

// The target of a link is replaced, not the link.
std::string FollowLink(const std::string& named) {
  std::error_code error;
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(named, error))) return named;
  const std::filesystem::path target = std::filesystem::weakly_canonical(named, error);
  return error ? named : target.string();
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

absl::Status WriteFileAtomically(const std::string& named, std::string_view content, mode_t mode) {
  if (IsSpecial(named)) return Write(named, /*create=*/false, content, named, mode);
  const std::string path = FollowLink(named);
  const std::string beside = fmt::format("{}.{}.tmp", path, getpid());
  unlink(beside.c_str());  // what a crash has left, whoever may read it
  absl::Status status = Write(beside, /*create=*/true, content, path, mode);
  if (status.ok() && rename(beside.c_str(), path.c_str()) != 0) status = FromErrno(errno, "replace", path);
  if (!status.ok()) {
    unlink(beside.c_str());
    return status;
  }
  // The rename itself must survive a crash: sync the folder.
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.open() || fsync(directory.get()) != 0) return FromErrno(errno, "sync the folder of", path);
  return absl::OkStatus();
}

absl::Status CheckFolderOf(const std::string& named) {
  if (IsSpecial(named)) {
    return access(named.c_str(), W_OK) == 0 ? absl::OkStatus() : FromErrno(errno, "be written", named);
  }
  const std::string path = FollowLink(named);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::FailedPreconditionError(fmt::format("{}: is a folder, expected a file", path));
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  struct stat about {};
  if (stat(folder.c_str(), &about) != 0) return FromErrno(errno, "be written: folder " + folder, path);
  if (!S_ISDIR(about.st_mode)) {
    return absl::FailedPreconditionError(fmt::format("{}: cannot be written: {} is a file", path, folder));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) return FromErrno(errno, "be written: folder " + folder, path);
  return absl::OkStatus();
}

}  // namespace tributary::runtime
