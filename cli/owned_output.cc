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

absl::Status WriteForFolderOwner(const std::string& path, std::string_view content, mode_t mode) {
  RETURN_IF_ERROR(WriteOutput(path, content, mode));
  return GiveToFolderOwner(path);
}

absl::Status GiveToFolderOwner(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  struct stat folder {};
  if (geteuid() != 0 || stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return absl::OkStatus();
  if (lchown(path.c_str(), folder.st_uid, folder.st_gid) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace tributary::cli
