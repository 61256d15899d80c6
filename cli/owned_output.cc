#include "cli/owned_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/failure.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/file_place.h"
#include "core/runtime/plain_file.h"
#include "core/runtime/process.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

absl::Status Output(absl::Status status) {
  return status.ok() ? status : WithExitCode(std::move(status), runtime::kExitCantCreate);
}

absl::Status GiveError(const std::string& path) {
  return absl::PermissionDeniedError(fmt::format("{}: {}", path, std::strerror(errno)));
}

// What `path` means now, opened: whoever owns its folder may exchange it at any time.
struct Opened {
  runtime::Descriptor file;
  struct stat facts;   // of the file
  struct stat folder;  // of the folder that it lies in
};

absl::StatusOr<Opened> Open(const std::string& path) {
  ASSIGN_OR_RETURN(const runtime::FilePlace place,
                   WithContext(path, runtime::FindPlace(path, runtime::LastLink::kRefused)));
  Opened opened{
      runtime::Descriptor(openat(place.folder.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)),
      {},
      {}};
  if (!opened.file.open() || fstat(opened.file.get(), &opened.facts) != 0 ||
      fstat(place.folder.get(), &opened.folder) != 0) {
    return GiveError(path);
  }
  return opened;
}

absl::Status Give(const Opened& opened, const std::string& path) {
  const int file = opened.file.get();
  if (fchownat(file, "", opened.folder.st_uid, opened.folder.st_gid, AT_EMPTY_PATH) == 0)
    return absl::OkStatus();
  return GiveError(path);
}

}  // namespace

absl::Status WritePlainOutput(const std::string& path, std::string_view content, mode_t mode,
                              runtime::FileOwner owner) {
  return Output(runtime::WritePlainFile(path, content, mode, owner));
}

absl::Status CheckPlainOutput(const std::string& path) { return Output(runtime::CheckPlainFile(path)); }

absl::Status WriteForFolderOwner(const std::string& path, std::string_view content, mode_t mode) {
  return WritePlainOutput(path, content, mode, runtime::FileOwner::kOfFolder);
}

absl::Status GiveToFolderOwner(const std::string& path) {
  if (geteuid() != 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Opened opened, Open(path));
  if (!S_ISDIR(opened.facts.st_mode) && opened.facts.st_nlink > 1) {
    return absl::FailedPreconditionError(path + ": has another name elsewhere; remove one of them");
  }
  return Give(opened, path);
}

absl::Status GiveTreeToFolderOwner(const std::string& folder) {
  namespace fs = std::filesystem;
  if (geteuid() != 0) return absl::OkStatus();
  fs::path top = fs::absolute(folder).lexically_normal();
  if (!top.has_filename()) top = top.parent_path();
  ASSIGN_OR_RETURN(const Opened opened, Open(top.string()));
  if (!S_ISDIR(opened.facts.st_mode) || opened.facts.st_uid != 0) {
    return absl::FailedPreconditionError(top.string() + ": somebody put another folder in its place");
  }
  // By its descriptor: who owns the folder above may rename it meanwhile. The folder itself last: until then
  // nobody else can put anything into it.
  std::error_code error;
  const fs::path inside = fmt::format("/proc/self/fd/{}/", opened.file.get());
  for (fs::recursive_directory_iterator each(inside, error), end; !error && each != end;
       each.increment(error)) {
    if (lchown(each->path().c_str(), opened.folder.st_uid, opened.folder.st_gid) != 0)
      return GiveError(top.string());
  }
  if (error) return absl::PermissionDeniedError(fmt::format("{}: {}", top.string(), error.message()));
  return Give(opened, top.string());
}

}  // namespace tributary::cli
