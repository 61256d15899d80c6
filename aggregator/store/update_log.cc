#include "aggregator/store/update_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/parameters/crc32c.h"

namespace tributary::store {
namespace {

absl::Status LogError(std::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(errno, fmt::format("{}: cannot {}", path, action));
}

}  // namespace

absl::StatusOr<UpdateLog> UpdateLog::Create(const std::string& folder, std::string name, StoreStepHook hook) {
  if (absl::Status status = AskHook(hook, StoreStep::kCreateFile); !status.ok()) return status;
  const std::string path = folder + "/" + name;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return LogError("create", path);
  UpdateLog log(fd, path, std::move(name), std::move(hook));
  absl::Status status = AskHook(log.hook_, StoreStep::kSyncFolder);
  if (status.ok()) status = SyncFolderOf(path);
  if (!status.ok()) return status;
  return log;
}

UpdateLog::UpdateLog(int fd, std::string path, std::string name, StoreStepHook hook)
    : fd_(fd), path_(std::move(path)), name_(std::move(name)), hook_(std::move(hook)) {}

UpdateLog::UpdateLog(UpdateLog&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      hook_(std::move(other.hook_)),
      size_(other.size_) {}

UpdateLog::~UpdateLog() {
  if (fd_ >= 0) close(fd_);
}

absl::Status UpdateLog::Write(std::string_view bytes, std::uint64_t offset) {
  if (absl::Status status = AskHook(hook_, StoreStep::kWriteFile); !status.ok()) return status;
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return LogError("write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FileFacts>> UpdateLog::Append(std::span<const std::string_view> parts) {
  std::vector<FileFacts> facts;
  std::uint64_t end = size_;
  absl::Status status;
  for (const std::string_view part : parts) {
    status = Write(part, end);
    if (!status.ok()) break;
    facts.push_back({name_, part.size(), parameters::Crc32c(part), end});
    end += part.size();
  }
  if (status.ok()) status = AskHook(hook_, StoreStep::kSyncFile);
  if (status.ok() && fdatasync(fd_) != 0) status = LogError("sync", path_);
  if (!status.ok()) {
    // The next batch overwrites what stays behind the end.
    if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) return LogError("shorten", path_);
    return status;
  }
  size_ = end;
  return facts;
}

}  // namespace tributary::store
