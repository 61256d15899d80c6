#include "aggregator/store/store_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "core/runtime/file.h"
#include "core/status/macros.h"

namespace tributary::store {
namespace {

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, path + ": cannot create the folder");
}

// Whether an entry may stand in a folder whose database is missing or empty: what an interrupted Open leaves,
// and what a file system puts into its root.
bool MayStandBeside(const std::filesystem::directory_entry& entry) {
  std::error_code ignored;
  const std::string name = entry.path().filename().string();
  if (name == kModels || name == kSubmissions) return std::filesystem::is_empty(entry.path(), ignored);
  if (name.starts_with(kDatabase)) {
    const std::string_view ending = std::string_view(name).substr(kDatabase.size());
    return ending.empty() || ending == "-journal" || ending == "-wal" || ending == "-shm";
  }
  return name == "lock" || name == kReserve || name == "lost+found";
}

absl::StatusOr<Descriptor> TakeLock(const std::string& folder) {
  const std::string path = folder + "/lock";
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.open()) return absl::ErrnoToStatus(errno, path + ": cannot open");
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, path + ": cannot lock");
    char holder[32] = {};
    const ssize_t size = pread(lock.get(), holder, sizeof holder - 1, 0);
    return absl::FailedPreconditionError(
        fmt::format("{}: the store is in use by another aggregator (process {}); nothing was changed", folder,
                    size > 0 ? holder : "unknown"));
  }
  // Only for the message above: a store opens on a full disk, too.
  const std::string pid = std::to_string(getpid());
  [[maybe_unused]] const bool told =
      ftruncate(lock.get(), 0) == 0 && pwrite(lock.get(), pid.data(), pid.size(), 0) > 0;
  return lock;
}

}  // namespace

bool HasDatabase(const std::string& folder) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(fmt::format("{}/{}", folder, kDatabase), error);
  return !error && bytes > 0;
}

bool HasSpace(const std::string& folder) {
  constexpr std::uintmax_t kLeast = std::uintmax_t{64} << 10;
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error || space.available >= kLeast;
}

bool InUse(const std::string& folder) {
  const Descriptor lock(open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  return lock.open() && flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

absl::Status CheckNewStore(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (MayStandBeside(entry)) continue;
    const std::string name = entry.path().filename().string();
    if (name == kModels || name == kSubmissions) {
      return absl::FailedPreconditionError(
          fmt::format("{}: has files in {} but {} is missing or empty; nothing was changed. Restore the "
                      "database, or name an empty folder",
                      folder, name, kDatabase));
    }
    return absl::FailedPreconditionError(fmt::format(
        "{}: is not empty ({}) and is no store; nothing was changed. Name an empty folder, or one that does "
        "not exist",
        folder, name));
  }
  if (!error) return absl::OkStatus();
  const std::string what = fmt::format("{}: {}", folder, error.message());
  if (error == std::errc::permission_denied) {
    return absl::PermissionDeniedError(what + "; it must belong to the user who runs the aggregator");
  }
  return absl::UnavailableError(what);
}

absl::StatusOr<Descriptor> TakeStoreFolder(const std::string& folder) {
  RETURN_IF_ERROR(CheckStoreFolder(folder));
  RETURN_IF_ERROR(MakeFolder(folder));
  ASSIGN_OR_RETURN(Descriptor lock, TakeLock(folder));
  for (const std::string_view name : {kModels, kSubmissions}) {
    RETURN_IF_ERROR(MakeFolder(fmt::format("{}/{}", folder, name)));
  }
  return lock;
}

void KeepReserve(const std::string& folder) {
  const Descriptor file(
      open(fmt::format("{}/{}", folder, kReserve).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.open()) return;
  constexpr off_t kMost = 1 << 20, kLeast = 1 << 16;
  for (off_t bytes = kMost; bytes >= kLeast; bytes /= 2) {
    if (posix_fallocate(file.get(), 0, bytes) == 0) return;
  }
}

void GiveUpReserve(const std::string& folder) { unlink(fmt::format("{}/{}", folder, kReserve).c_str()); }

absl::Status CheckStoreFolder(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::file_status about = std::filesystem::status(folder, ignored);
  if (std::filesystem::exists(about) && !std::filesystem::is_directory(about)) {
    return absl::InvalidArgumentError(folder + ": is a file, expected a folder");
  }
  if (!std::filesystem::exists(about)) {
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(folder, ignored))) {
      return absl::InvalidArgumentError(folder + ": is a link that leads nowhere");
    }
    return runtime::CheckFolderOf(folder);
  }
  for (const std::string_view name : {kModels, kSubmissions}) {
    const std::string part = fmt::format("{}/{}", folder, name);
    if (std::filesystem::exists(part, ignored) && !std::filesystem::is_directory(part, ignored)) {
      return absl::InvalidArgumentError(part + ": is a file, a store has a folder there");
    }
  }
  const std::string database = fmt::format("{}/{}", folder, kDatabase);
  if (std::filesystem::is_directory(database, ignored)) {
    return absl::InvalidArgumentError(database + ": is a folder, a store has a file there");
  }
  if (!HasDatabase(folder)) RETURN_IF_ERROR(CheckNewStore(folder));
  return runtime::CheckFolderOf(folder + "/lock");
}

}  // namespace tributary::store
