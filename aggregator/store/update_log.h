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

// Appends batches with one sync each, so updates that arrive together share its cost. The file stays when
// this object is destroyed: the database names its parts. One thread at a time.
//
// Errors name the path; ResourceExhausted: the disk is full. An error leaves the end of the file where it
// was.
class UpdateLog {
 public:
  // `folder`/`name`. The folders exist.
  static absl::StatusOr<UpdateLog> Create(const std::string& folder, std::string name, StoreStepHook hook);
  ~UpdateLog();
  UpdateLog(UpdateLog&& other) noexcept;
  UpdateLog& operator=(UpdateLog&& other) = delete;

  // After it returns, a crash leaves all parts complete. The facts are in the order of `parts`.
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
