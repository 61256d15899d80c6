#include "aggregator/store/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/parameters/crc32c.h"
#include "core/status/macros.h"

namespace tributary::store {
namespace {

absl::Status FromErrno(std::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(errno, fmt::format("{}: cannot {}", path, action));
}

// Makes the file's name in its folder survive a crash.
absl::Status SyncFolderOf(const std::string& path, const StoreStepHook& hook) {
  RETURN_IF_ERROR(AskHook(hook, StoreStep::kSyncFolder));
  const std::string folder = path.substr(0, path.rfind('/'));
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.open()) return FromErrno("open", folder);
  return fsync(opened.get()) == 0 ? absl::OkStatus() : FromErrno("sync", folder);
}

absl::Status WriteAt(const Descriptor& file, const std::string& path, std::string_view bytes,
                     std::uint64_t offset, const StoreStepHook& hook) {
  RETURN_IF_ERROR(AskHook(hook, StoreStep::kWriteFile));
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return absl::OkStatus();
}

absl::Status SyncFile(const Descriptor& file, const std::string& path, const StoreStepHook& hook) {
  RETURN_IF_ERROR(AskHook(hook, StoreStep::kSyncFile));
  return fdatasync(file.get()) == 0 ? absl::OkStatus() : FromErrno("sync", path);
}

}  // namespace

absl::StatusOr<DurableFile> DurableFile::Create(std::string folder, std::string name, StoreStepHook hook) {
  RETURN_IF_ERROR(AskHook(hook, StoreStep::kCreateFile));
  std::string path = std::move(folder) + "/" + name;
  Descriptor file(open((path + ".tmp").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.open()) return FromErrno("create", path);
  return DurableFile(std::move(file), std::move(path), std::move(name), std::move(hook));
}

DurableFile::~DurableFile() {
  if (file_.open()) unlink((path_ + ".tmp").c_str());
}

absl::Status DurableFile::Append(std::string_view bytes) {
  RETURN_IF_ERROR(WriteAt(file_, path_, bytes, facts_.bytes, hook_));
  facts_.crc32c = parameters::Crc32c(bytes, facts_.crc32c);
  facts_.bytes += bytes.size();
  return absl::OkStatus();
}

absl::Status DurableFile::Commit() {
  RETURN_IF_ERROR(SyncFile(file_, path_, hook_));
  RETURN_IF_ERROR(AskHook(hook_, StoreStep::kRenameFile));
  if (rename((path_ + ".tmp").c_str(), path_.c_str()) != 0) return FromErrno("put in place", path_);
  file_.Close();
  // The rename itself must survive a crash.
  return SyncFolderOf(path_, hook_);
}

absl::StatusOr<UpdateLog> UpdateLog::Create(const std::string& folder, std::string name, StoreStepHook hook) {
  RETURN_IF_ERROR(AskHook(hook, StoreStep::kCreateFile));
  std::string path = folder + "/" + name;
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.open()) return FromErrno("create", path);
  RETURN_IF_ERROR(SyncFolderOf(path, hook));
  return UpdateLog(std::move(file), std::move(path), std::move(name), std::move(hook));
}

absl::StatusOr<std::vector<FileFacts>> UpdateLog::Append(std::span<const std::string_view> parts) {
  std::vector<FileFacts> facts;
  std::uint64_t end = size_;
  absl::Status status;
  for (auto part = parts.begin(); part != parts.end() && status.ok(); ++part) {
    status = WriteAt(file_, path_, *part, end, hook_);
    facts.push_back({name_, part->size(), parameters::Crc32c(*part), end});
    end += part->size();
  }
  if (status.ok()) status = SyncFile(file_, path_, hook_);
  if (status.ok()) {
    size_ = end;  // moves only if all is on the disk
    return facts;
  }
  // The next batch overwrites what stays behind the end.
  if (ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) return FromErrno("shorten", path_);
  return status;
}

absl::StatusOr<CheckedReader> CheckedReader::Open(const std::string& folder, const FileFacts& facts) {
  const std::string path = folder + "/" + facts.name;
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) return absl::DataLossError(path + ": is missing from the store");
  if (!file.open()) return FromErrno("open", path);
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return FromErrno("read", path);
  const auto size = static_cast<std::uint64_t>(about.st_size);
  const std::uint64_t end = facts.offset + facts.bytes;
  if (facts.name.ends_with(kLogEnding) ? size < end : size != end) {
    return absl::DataLossError(fmt::format("{}: has {} bytes, {} were written", path, size, end));
  }
  if (lseek(file.get(), static_cast<off_t>(facts.offset), SEEK_SET) < 0) return FromErrno("read", path);
  return CheckedReader(std::move(file), path, facts);
}

absl::Status CheckedReader::Skip(std::uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  bytes = std::min(bytes, remaining());
  if (lseek(file_.get(), static_cast<off_t>(bytes), SEEK_CUR) < 0) return FromErrno("read", path_);
  position_ += bytes;
  whole_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> CheckedReader::Read(char* buffer, std::size_t size) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, remaining()));
  for (std::size_t done = 0; done < wanted;) {
    const ssize_t got = read(file_.get(), buffer + done, wanted - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno("read", path_);
    if (got == 0) return absl::DataLossError(path_ + ": ends early");
    done += static_cast<std::size_t>(got);
  }
  position_ += wanted;
  crc32c_ = parameters::Crc32c({buffer, wanted}, crc32c_);
  if (remaining() == 0 && whole_ && crc32c_ != facts_.crc32c) {
    return absl::DataLossError(fmt::format("{}: does not match its checksum", path_));
  }
  return wanted;
}

}  // namespace tributary::store
