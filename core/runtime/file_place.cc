#include "core/runtime/file_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/status/macros.h"

namespace tributary::runtime {
namespace {

constexpr int kMostLinks = 40;  // as the kernel's own limit, path_resolution(7)

absl::Status FolderError(int error, const std::string& path) {
  if (error == ENOTDIR) return absl::FailedPreconditionError(path + " is a file, expected a folder");
  return absl::ErrnoToStatus(error, "folder " + path);
}

// Whether root may follow it: only root could have laid it there.
bool LaidByRoot(int folder, const struct stat& link) {
  struct stat about {};
  return link.st_uid == 0 && fstat(folder, &about) == 0 && about.st_uid == 0;
}

std::string TargetOf(int folder, const std::string& link) {
  char target[PATH_MAX];
  const ssize_t size = readlinkat(folder, link.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : "";
}

// The parts of a path that are still to be walked, the next one last.
void Put(const std::string& path, std::vector<std::string>& parts) {
  std::vector<std::string> added;
  for (const auto& each : std::filesystem::path(path).relative_path()) added.push_back(each.string());
  parts.insert(parts.end(), added.rbegin(), added.rend());
}

Descriptor StartOf(const std::string& path) {
  return Descriptor(open(path.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// Part by part, so that no link is followed that was not looked at.
absl::StatusOr<Descriptor> WalkAsRoot(const std::string& path) {
  Descriptor at = StartOf(path);
  std::vector<std::string> parts;
  Put(path, parts);
  for (int links = 0; !parts.empty();) {
    const std::string name = std::exchange(parts.back(), "");
    parts.pop_back();
    if (name.empty()) continue;  // a slash at the end
    Descriptor next(openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat about {};
    if (!next.open() || fstat(next.get(), &about) != 0) return FolderError(errno, path);
    if (!S_ISLNK(about.st_mode)) {
      if (!S_ISDIR(about.st_mode)) return FolderError(ENOTDIR, path);
      at = std::move(next);
      continue;
    }
    if (!LaidByRoot(at.get(), about)) {
      return absl::FailedPreconditionError(
          fmt::format("folder {}: \"{}\" is a link of another user, which root does not follow; name the "
                      "folder that it leads to",
                      path, name));
    }
    const std::string target = TargetOf(at.get(), name);
    if (++links > kMostLinks || target.empty()) return FolderError(ELOOP, path);
    if (target.starts_with('/')) at = StartOf(target);
    Put(target, parts);
  }
  return at;
}

}  // namespace

absl::StatusOr<Descriptor> OpenFolder(const std::string& path) {
  if (geteuid() == 0) return WalkAsRoot(path);
  Descriptor folder(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) return FolderError(errno, path);
  return folder;
}

absl::StatusOr<FilePlace> FindPlace(const std::string& named, LastLink link) {
  std::filesystem::path path = named;
  for (int links = 0;; ++links) {
    const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
    ASSIGN_OR_RETURN(Descriptor opened, OpenFolder(folder));
    const std::string name = path.has_filename() ? path.filename().string() : ".";
    struct stat about {};
    const bool there = fstatat(opened.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0;
    if (!there || !S_ISLNK(about.st_mode)) {
      const bool special = there && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
      return FilePlace{std::move(opened), name, special ? FilePlace::Kind::kSpecial : FilePlace::Kind::kFile};
    }
    if (link == LastLink::kRefused) {
      return absl::FailedPreconditionError(
          "is a link, and nothing is written through it; remove it, or name the place that it leads to");
    }
    if (geteuid() == 0 && !LaidByRoot(opened.get(), about)) {
      return absl::FailedPreconditionError(
          "is a link of another user, which root does not follow; name the file that it leads to");
    }
    const std::string target = TargetOf(opened.get(), name);
    path = path.parent_path() / target;
    const bool reached = fstatat(opened.get(), name.c_str(), &about, 0) == 0;
    if (reached && lstat(path.c_str(), &about) != 0) {
      return FilePlace{std::move(opened), name, FilePlace::Kind::kOpened};
    }
    if (links == kMostLinks || target.empty()) return absl::FailedPreconditionError("too many links");
  }
}

}  // namespace tributary::runtime
