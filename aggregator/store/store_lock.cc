#include "aggregator/store/store_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tributary::store {

absl::StatusOr<StoreLock> StoreLock::Take(const std::string& folder) {
  const std::string path = folder + "/lock";
  StoreLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.fd_ < 0) return absl::ErrnoToStatus(errno, path + ": cannot open");
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, path + ": cannot lock");
    char holder[32] = {};
    const ssize_t size = pread(lock.fd_, holder, sizeof holder - 1, 0);
    return absl::FailedPreconditionError(
        fmt::format("{}: the store is in use by another aggregator (process {}); nothing was changed", folder,
                    size > 0 ? holder : "unknown"));
  }
  // Only for the message above.
  const std::string pid = std::to_string(getpid());
  if (ftruncate(lock.fd_, 0) != 0 || pwrite(lock.fd_, pid.data(), pid.size(), 0) < 0) {
    return absl::ErrnoToStatus(errno, path + ": cannot write");
  }
  return lock;
}

StoreLock::~StoreLock() {
  if (fd_ >= 0) close(fd_);
}

StoreLock::StoreLock(StoreLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

StoreLock& StoreLock::operator=(StoreLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace tributary::store
