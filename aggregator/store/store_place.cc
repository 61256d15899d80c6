#include "aggregator/store/store_place.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "aggregator/store/store.h"
#include "core/runtime/file.h"

namespace tributary::store {

absl::Status Store::CheckPlace(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::file_status about = std::filesystem::status(folder, ignored);
  if (std::filesystem::exists(about) && !std::filesystem::is_directory(about)) {
    return absl::InvalidArgumentError(folder + ": is a file, expected a folder");
  }
  if (!std::filesystem::exists(about)) {
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(folder, ignored))) {
      return absl::InvalidArgumentError(folder + ": is a link that leads nowhere");
    }
    return runtime::CheckFolderOf(folder);
  }
  for (const std::string_view name : {kModels, kSubmissions}) {
    const std::string part = fmt::format("{}/{}", folder, name);
    if (std::filesystem::exists(part, ignored) && !std::filesystem::is_directory(part, ignored)) {
      return absl::InvalidArgumentError(part + ": is a file, a store has a folder there");
    }
  }
  const std::string database = fmt::format("{}/{}", folder, kDatabase);
  if (std::filesystem::is_directory(database, ignored)) {
    return absl::InvalidArgumentError(database + ": is a folder, a store has a file there");
  }
  return runtime::CheckFolderOf(folder + "/lock");
}

}  // namespace tributary::store
