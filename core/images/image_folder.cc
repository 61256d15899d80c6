#include "core/images/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/images/idx_file.h"
#include "core/images/image_file.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::images {
namespace {

constexpr std::size_t kMaxClasses = 256;  // a label is a byte

struct Entries {
  std::vector<std::string> folders, files;  // paths, in alphabetical order
};

absl::StatusOr<Entries> List(const std::string& folder) {
  Entries entries;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().native().starts_with('.')) continue;
    std::error_code ignored;  // a link that leads nowhere is a file that cannot be read
    (at->is_directory(ignored) ? entries.folders : entries.files).push_back(at->path().native());
  }
  if (error) return absl::NotFoundError(fmt::format("{}: {}", folder, error.message()));
  std::ranges::sort(entries.folders);
  std::ranges::sort(entries.files);
  return entries;
}

absl::Status Append(const std::string& path, const nn::ImageShape& shape, ImageSet& set) {
  ASSIGN_OR_RETURN(const std::string bytes, runtime::ReadFile(path));
  auto picture = DecodePicture(bytes);
  if (!picture.ok()) return WithContext(path, picture.status());
  if (set.pixels.size() + shape.size() > kMaxIdxBytes) {
    return absl::ResourceExhaustedError(fmt::format("{}: more than {} bytes of images", path, kMaxIdxBytes));
  }
  set.pixels.resize(set.pixels.size() + shape.size());
  Fit(*picture, shape, set.pixels.data() + set.pixels.size() - shape.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImageSet> ReadImageFolder(const std::string& folder, const nn::ImageShape& shape) {
  ASSIGN_OR_RETURN(const Entries top, List(folder));
  if (!top.folders.empty() && !top.files.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: files beside the folders of classes, as {}; put them into a class or away", folder,
                    std::filesystem::path(top.files.front()).filename().native()));
  }
  if (top.folders.size() > kMaxClasses) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} folders, at most {} classes", folder, top.folders.size(), kMaxClasses));
  }
  ImageSet set;
  set.side = shape.side;
  set.channels = shape.channels;
  for (const std::string& path : top.files) RETURN_IF_ERROR(Append(path, shape, set));
  for (std::size_t label = 0; label < top.folders.size(); ++label) {
    ASSIGN_OR_RETURN(const Entries inner, List(top.folders[label]));
    if (!inner.folders.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: a folder within the folder of a class", inner.folders.front()));
    }
    for (const std::string& path : inner.files) {
      RETURN_IF_ERROR(Append(path, shape, set));
      set.labels.push_back(static_cast<std::uint8_t>(label));
    }
  }
  if (set.count() == 0)
    return absl::InvalidArgumentError(fmt::format("{}: no picture in this folder", folder));
  return set;
}

}  // namespace tributary::images
