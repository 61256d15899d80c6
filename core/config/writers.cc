#include "core/config/writers.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace tributary::config {

absl::Status CheckWriters(const std::string& path, std::string_view power) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  struct stat place {};
  if (stat(folder.c_str(), &place) != 0) return absl::OkStatus();  // there is no file
  // In a folder with the sticky bit others replace only what is theirs.
  if ((place.st_mode & S_IWOTH) != 0 && (place.st_mode & S_ISVTX) == 0) {
    return absl::FailedPreconditionError(
        fmt::format("{}: anybody may write to its folder; take that right away: chmod o-w {}", path, folder));
  }
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return absl::OkStatus();
  if ((facts.st_mode & S_IWOTH) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("{}: anybody may write to it; take that right away: chmod o-w {}", path, path));
  }
  // The owner of the folder could replace the file anyway.
  if (facts.st_uid != 0 && facts.st_uid != geteuid() && facts.st_uid != place.st_uid) {
    return absl::FailedPreconditionError(
        fmt::format("{}: belongs to the user with the id {}, who could {}; give it to the aggregator's "
                    "user: chown USER {}",
                    path, facts.st_uid, power, path));
  }
  return absl::OkStatus();
}

}  // namespace tributary::config
