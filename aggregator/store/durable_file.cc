#include "aggregator/store/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/parameters/crc32c.h"

namespace tributary::store {
namespace {

absl::Status FromErrno(std::string_view action, const std::string& path) {
  return absl::ErrnoToStatus(errno, fmt::format("{}: cannot {}", path, action));
}

}  // namespace

absl::Status SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FromErrno("open", folder);
  absl::Status status;
  if (fsync(fd) != 0) status = FromErrno("sync", folder);
  close(fd);
  return status;
}

absl::StatusOr<DurableFile> DurableFile::Create(std::string folder, std::string name, StoreStepHook hook) {
  if (absl::Status status = AskHook(hook, StoreStep::kCreateFile); !status.ok()) return status;
  const std::string path = folder + "/" + name;
  const int fd = open((path + ".tmp").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return FromErrno("create", path);
  return DurableFile(fd, std::move(folder), std::move(name), std::move(hook));
}

DurableFile::DurableFile(int fd, std::string folder, std::string name, StoreStepHook hook)
    : fd_(fd), folder_(std::move(folder)), facts_{std::move(name), 0, 0}, hook_(std::move(hook)) {}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      folder_(std::move(other.folder_)),
      facts_(std::move(other.facts_)),
      hook_(std::move(other.hook_)) {}

DurableFile::~DurableFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink((path() + ".tmp").c_str());
}

absl::Status DurableFile::Append(std::string_view bytes) {
  if (absl::Status status = AskHook(hook_, StoreStep::kWriteFile); !status.ok()) return status;
  facts_.crc32c = parameters::Crc32c(bytes, facts_.crc32c);
  facts_.bytes += bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FromErrno("write", path());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status DurableFile::Commit() {
  absl::Status status = AskHook(hook_, StoreStep::kSyncFile);
  if (status.ok() && fdatasync(fd_) != 0) status = FromErrno("sync", path());
  if (status.ok()) status = AskHook(hook_, StoreStep::kRenameFile);
  if (status.ok() && rename((path() + ".tmp").c_str(), path().c_str()) != 0) {
    status = FromErrno("put in place", path());
  }
  if (!status.ok()) return status;
  close(std::exchange(fd_, -1));
  // The rename itself must survive a crash.
  if (status = AskHook(hook_, StoreStep::kSyncFolder); status.ok()) status = SyncFolderOf(path());
  return status;
}

absl::StatusOr<CheckedReader> CheckedReader::Open(const std::string& folder, const FileFacts& facts) {
  std::string path = folder + "/" + facts.name;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return absl::DataLossError(path + ": is missing from the store");
  if (fd < 0) return FromErrno("open", path);
  CheckedReader reader(fd, std::move(path), facts);
  struct stat about {};
  if (fstat(fd, &about) != 0) return FromErrno("read", reader.path_);
  const auto size = static_cast<std::uint64_t>(about.st_size);
  const std::uint64_t end = facts.offset + facts.bytes;
  if (facts.name.ends_with(kLogEnding) ? size < end : size != end) {
    return absl::DataLossError(fmt::format("{}: has {} bytes, {} were written", reader.path_, size, end));
  }
  if (facts.offset > 0 && lseek(fd, static_cast<off_t>(facts.offset), SEEK_SET) < 0) {
    return FromErrno("read", reader.path_);
  }
  return reader;
}

CheckedReader::CheckedReader(int fd, std::string path, FileFacts facts)
    : fd_(fd), path_(std::move(path)), facts_(std::move(facts)) {}

CheckedReader::~CheckedReader() {
  if (fd_ >= 0) close(fd_);
}

CheckedReader::CheckedReader(CheckedReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      facts_(std::move(other.facts_)),
      position_(other.position_),
      whole_(other.whole_),
      crc32c_(other.crc32c_) {}

CheckedReader& CheckedReader::operator=(CheckedReader&& other) noexcept {
  std::swap(fd_, other.fd_);
  path_ = std::move(other.path_);
  facts_ = std::move(other.facts_);
  position_ = other.position_;
  whole_ = other.whole_;
  crc32c_ = other.crc32c_;
  return *this;
}

absl::Status CheckedReader::Skip(std::uint64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  bytes = std::min(bytes, remaining());
  if (lseek(fd_, static_cast<off_t>(bytes), SEEK_CUR) < 0) return FromErrno("read", path_);
  position_ += bytes;
  whole_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> CheckedReader::Read(char* buffer, std::size_t size) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, remaining()));
  for (std::size_t done = 0; done < wanted;) {
    const ssize_t got = read(fd_, buffer + done, wanted - done);
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
