#include "core/runtime/new_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/runtime/descriptor.h"
#include "core/runtime/file.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::runtime {
namespace {

namespace fs = std::filesystem;

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

absl::Status RemovePartial(const std::string& partial, const NewFolder::KnowsName& knows) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(partial, error))) return absl::OkStatus();
  if (!fs::is_directory(fs::symlink_status(partial, error))) {
    return absl::FailedPreconditionError(partial + ": is in the way; move it away");
  }
  for (const auto& entry : fs::directory_iterator(partial, error)) {
    const std::string name = entry.path().filename().string();
    if (knows(name)) continue;
    return absl::FailedPreconditionError(
        fmt::format("{}: is in the way and has {}, which no earlier attempt has left; move it away", partial,
                    Printable(name)));
  }
  fs::remove_all(partial, error);
  return error ? absl::UnavailableError(fmt::format("{}: {}", partial, error.message())) : absl::OkStatus();
}

}  // namespace

NewFolder::NewFolder(std::string to, KnowsName knows)
    : to_(std::move(to)), partial_(to_ + ".partial"), knows_(std::move(knows)) {}

NewFolder::NewFolder(NewFolder&& other) noexcept
    : to_(other.to_),
      partial_(other.partial_),
      knows_(other.knows_),
      open_(std::exchange(other.open_, false)) {}

absl::Status NewFolder::Check(const std::string& given) {
  const std::string to = WithoutSlash(given);
  std::error_code error;
  const fs::file_status about = fs::symlink_status(to, error);
  if (!fs::exists(about)) return CheckFolderOf(to);
  if (fs::is_directory(about) && fs::is_empty(to, error) && !error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      to + ": is there already and stays as it is; name a folder that does not exist, or an empty one");
}

absl::StatusOr<NewFolder> NewFolder::Create(const std::string& to, const KnowsName& knows) {
  NewFolder folder(WithoutSlash(to), knows);
  RETURN_IF_ERROR(Check(folder.to_));
  RETURN_IF_ERROR(RemovePartial(folder.partial_, knows));
  if (mkdir(folder.partial_.c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, folder.partial_ + ": cannot create");
  }
  folder.open_ = true;
  return folder;
}

NewFolder::~NewFolder() {
  if (open_) RemovePartial(partial_, knows_).IgnoreError();
}

absl::Status NewFolder::Commit() {
  RETURN_IF_ERROR(SyncPath(partial_));
  if (std::rename(partial_.c_str(), to_.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, to_ + ": cannot put the copy in place");
  }
  open_ = false;
  const fs::path parent = fs::path(to_).parent_path();
  return SyncPath(parent.empty() ? "." : parent.string());
}

absl::Status SyncPath(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.open() && fsync(file.get()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, path + ": cannot sync");
}

}  // namespace tributary::runtime
