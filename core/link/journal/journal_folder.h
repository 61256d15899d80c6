// The files of a journal, as far as a journal needs them: on a disk, or in a test that cuts the power.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::link {

// One thread's. Names are relative to the folder. Errors begin with the path; ResourceExhausted: the disk is
// full.
class JournalFolder {
 public:
  virtual ~JournalFolder() = default;

  virtual std::string path() const = 0;
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;
  // At most `max_bytes`: ResourceExhausted for a longer file.
  virtual absl::StatusOr<std::string> Read(const std::string& name, std::size_t max_bytes) = 0;
  // Creates the file if `offset` is 0; else it has that many bytes. An error leaves it as it was.
  virtual absl::Status Append(const std::string& name, std::uint64_t offset, std::string_view bytes) = 0;
  // After these return, a power cut leaves the file's bytes, or the folder's names, as they are now.
  virtual absl::Status Sync(const std::string& name) = 0;
  virtual absl::Status SyncNames() = 0;
  virtual absl::Status Truncate(const std::string& name, std::uint64_t bytes) = 0;
  virtual absl::Status Remove(const std::string& name) = 0;
};

// Creates the folder if it is missing, for this user only, and locks it for this process until the result is
// destroyed; the kernel releases the lock when the process ends, also by SIGKILL. FailedPrecondition: another
// process has it, or a file is in the way; else that of errno.
absl::StatusOr<std::unique_ptr<JournalFolder>> OpenJournalFolder(const std::string& path);

}  // namespace tributary::link
