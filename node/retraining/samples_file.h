// A file to which another program appends lines.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/runtime/descriptor.h"

namespace tributary::retraining {

// One thread's. What the file had at the first look is left out: it was there before this process, which then
// has learned from it or never saw those ranges.
class SamplesFile {
 public:
  static constexpr std::size_t kReadBytes = 64 << 10;  // at a time
  static constexpr std::size_t kLineBytes = 1024;      // a longer line is passed over

  explicit SamplesFile(std::string path) : path_(std::move(path)) {}

  // Complete lines that were appended since the last call, without their ends; an empty one stands for a
  // line that was passed over. A file that was replaced or cut is read from its beginning; one that is not
  // there has no lines. Errors name the path: PermissionDenied, Unavailable; FailedPrecondition where it is
  // no regular file.
  absl::StatusOr<std::vector<std::string>> Poll();

 private:
  const std::string path_;
  runtime::Descriptor file_{-1};
  ino_t inode_ = 0;
  off_t offset_ = 0;
  bool looked_ = false;
  bool passing_ = false;  // over a line that is too long
  std::string begun_;     // a line without its end
};

}  // namespace tributary::retraining
