// A folder that appears when it is complete, or not at all.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tributary::runtime {

// Fill partial(), then call Commit. What was not committed is removed at the end. One thread's.
class NewFolder {
 public:
  // Which names a whole folder of this kind has at its top. What an interrupted attempt has left is removed
  // only if it has no other name.
  using KnowsName = std::function<bool(std::string_view name)>;

  // Whether a folder could be made at `to`. Errors: FailedPrecondition: it is there and not empty; those of
  // CheckFolderOf.
  static absl::Status Check(const std::string& to);
  // Makes `to`.partial for this user only. Errors: those of Check and of the system; FailedPrecondition:
  // something else lies at `to`.partial.
  static absl::StatusOr<NewFolder> Create(const std::string& to, const KnowsName& knows);
  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();

  const std::string& partial() const { return partial_; }
  // Puts the folder in place and makes its name durable; the caller has synced what is in it.
  absl::Status Commit();

 private:
  NewFolder(std::string to, KnowsName knows);

  const std::string to_;
  const std::string partial_;
  const KnowsName knows_;
  bool open_ = false;
};

// Makes the names in a folder, or the bytes of a file, survive a power cut.
absl::Status SyncPath(const std::string& path);

}  // namespace tributary::runtime
