// One process per store.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tributary::store {

// Holds an exclusive lock on the file `lock` of a folder. The kernel releases it when the process ends, also
// by SIGKILL.
class StoreLock {
 public:
  // FailedPrecondition if another process holds it (naming that process); else the error of errno.
  static absl::StatusOr<StoreLock> Take(const std::string& folder);
  ~StoreLock();
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;

 private:
  explicit StoreLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tributary::store
