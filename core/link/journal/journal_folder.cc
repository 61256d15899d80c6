#include "core/link/journal/journal_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/file.h"

namespace tributary::link {
namespace {

using runtime::Descriptor;

absl::Status FolderError(std::string_view action, const std::string& path) {
  const int error = errno;
  return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot ", std::string(action)));
}

class DiskFolder final : public JournalFolder {
 public:
  DiskFolder(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path() const override { return path_; }

  absl::StatusOr<std::vector<std::string>> List() override {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(path_, ": cannot read the folder"));
    return names;
  }

  absl::StatusOr<std::string> Read(const std::string& name, std::size_t max_bytes) override {
    return runtime::ReadFile(At(name), max_bytes);
  }

  absl::Status Append(const std::string& name, std::uint64_t offset, std::string_view bytes) override {
    if (name != open_name_ || offset == 0) {
      const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (offset == 0 ? O_CREAT | O_EXCL : 0);
      open_ = Descriptor(open(At(name).c_str(), flags, 0600));
      open_name_ = open_.open() ? name : "";
      if (!open_.open()) return FolderError("create", At(name));
    }
    for (std::uint64_t at = offset; !bytes.empty();) {
      const ssize_t written = pwrite(open_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        absl::Status error = FolderError("write", At(name));
        Undo(name, offset);
        return error;
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
      at += static_cast<std::uint64_t>(written);
    }
    return absl::OkStatus();
  }

  absl::Status Sync(const std::string& name) override {
    if (name != open_name_) return absl::FailedPreconditionError(At(name) + ": is not being written");
    return fdatasync(open_.get()) == 0 ? absl::OkStatus() : FolderError("sync", At(name));
  }

  absl::Status SyncNames() override {
    const Descriptor folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.open()) return FolderError("open", path_);
    return fsync(folder.get()) == 0 ? absl::OkStatus() : FolderError("sync", path_);
  }

  absl::Status Truncate(const std::string& name, std::uint64_t bytes) override {
    const Descriptor file(open(At(name).c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.open() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 || fsync(file.get()) != 0) {
      return FolderError("shorten", At(name));
    }
    return absl::OkStatus();
  }

  absl::Status Remove(const std::string& name) override {
    if (name == open_name_) {
      open_.Close();
      open_name_.clear();
    }
    return unlink(At(name).c_str()) == 0 ? absl::OkStatus() : FolderError("remove", At(name));
  }

 private:
  std::string At(const std::string& name) const { return path_ + "/" + name; }

  // Half a record must not stay before the next one.
  void Undo(const std::string& name, std::uint64_t offset) {
    if (offset == 0) {
      static_cast<void>(Remove(name));
    } else if (ftruncate(open_.get(), static_cast<off_t>(offset)) != 0) {
      open_.Close();  // the reader cuts what is torn
      open_name_.clear();
    }
  }

  const std::string path_;
  const Descriptor lock_;
  Descriptor open_{-1};  // the file that is being appended to
  std::string open_name_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JournalFolder>> OpenJournalFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return FolderError("create the folder", path);
  const std::string name = path + "/lock";
  Descriptor lock(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.open()) return FolderError("open", name);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return FolderError("lock", name);
    return absl::FailedPreconditionError(path + ": another process uses this folder");
  }
  return std::make_unique<DiskFolder>(path, std::move(lock));
}

}  // namespace tributary::link
