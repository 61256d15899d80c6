// The file that the small updates of one round share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/store/durable_file.h"
#include "aggregator/store/store_step.h"

namespace tributary::store {

// Appends batches and syncs once for each, so that the cost of a sync is shared by what arrives together. The
// file stays when this object goes: the database names its parts. One thread at a time.
//
// Errors name the path; ResourceExhausted: the disk is full. The file then ends where it ended before.
class UpdateLog {
 public:
  // `folder`/`name`. The folders exist.
  static absl::StatusOr<UpdateLog> Create(const std::string& folder, std::string name, StoreStepHook hook);
  ~UpdateLog();
  UpdateLog(UpdateLog&& other) noexcept;
  UpdateLog& operator=(UpdateLog&& other) = delete;

  // Once it returns, a crash leaves all of them whole. The facts are in the order of `parts`.
  absl::StatusOr<std::vector<FileFacts>> Append(std::span<const std::string_view> parts);

 private:
  UpdateLog(int fd, std::string path, std::string name, StoreStepHook hook);
  absl::Status Write(std::string_view bytes, std::uint64_t offset);

  int fd_;
  std::string path_;
  std::string name_;
  StoreStepHook hook_;
  std::uint64_t size_ = 0;
};

}  // namespace tributary::store
