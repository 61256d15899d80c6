#include "cli/owned_output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/failure.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

absl::Status GiveTo(const struct stat& owner, const std::string& path) {
  if (lchown(path.c_str(), owner.st_uid, owner.st_gid) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace

absl::Status WriteForFolderOwner(const std::string& path, std::string_view content, mode_t mode) {
  RETURN_IF_ERROR(WriteOutput(path, content, mode));
  return GiveToFolderOwner(path);
}

absl::Status GiveToFolderOwner(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  struct stat folder {};
  if (geteuid() != 0 || stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return absl::OkStatus();
  return GiveTo(folder, path);
}

absl::Status GiveTreeToFolderOwner(const std::string& folder) {
  namespace fs = std::filesystem;
  if (geteuid() != 0) return absl::OkStatus();
  fs::path top = fs::absolute(folder).lexically_normal();
  if (!top.has_filename()) top = top.parent_path();
  struct stat owner {};
  if (stat(top.parent_path().c_str(), &owner) != 0) return absl::OkStatus();
  // The folder itself last: until then nobody else can put anything into it.
  std::error_code error;
  for (fs::recursive_directory_iterator each(top, error), end; !error && each != end; each.increment(error)) {
    RETURN_IF_ERROR(GiveTo(owner, each->path().string()));
  }
  if (error) return absl::PermissionDeniedError(fmt::format("{}: {}", top.string(), error.message()));
  return GiveTo(owner, top.string());
}

}  // namespace tributary::cli
