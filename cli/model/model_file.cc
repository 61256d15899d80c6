#include "cli/model/model_file.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/runtime/file.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kMaxModelBytes = std::size_t{1} << 30;

absl::Status Annotate(const absl::Status& status, const std::string& path) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

std::vector<std::filesystem::path> ModelFolders() {
  std::vector<std::filesystem::path> folders;
  if (const char* folder = std::getenv("TRIBUTARY_MODEL_DIR")) folders.emplace_back(folder);
  folders.emplace_back("models");
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  // build/<preset>/bin/tributary lies three folders below the source tree.
  auto above = program.parent_path();
  for (int level = 0; level < 3 && !error && above.has_relative_path(); ++level) {
    above = above.parent_path();
    folders.push_back(above / "models");
  }
  folders.emplace_back("/usr/share/tributary/models");
  return folders;
}

}  // namespace

absl::StatusOr<std::string> FindModelFile(const std::string& given, const std::string& name) {
  if (!given.empty()) return given;
  std::vector<std::string> tried;
  for (const auto& folder : ModelFolders()) {
    const auto path = folder / name;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path.string();
    tried.push_back(path.string());
  }
  return absl::NotFoundError(absl::StrCat("no model file; looked for ", absl::StrJoin(tried, ", ")));
}

absl::StatusOr<LoadedPositioningModel> LoadPositioningModel(const std::string& given) {
  auto path = FindModelFile(given, "positioning.safetensors");
  if (!path.ok()) return path.status();
  const auto file = runtime::ReadFile(*path, kMaxModelBytes);
  if (!file.ok()) return file.status();
  auto network = nn::DecodePositioning(*file);
  if (!network.ok()) return Annotate(network.status(), *path);
  return LoadedPositioningModel{*std::move(path), *std::move(network)};
}

}  // namespace tributary::cli
