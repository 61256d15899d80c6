#include "node/retraining/samples_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tributary::retraining {

absl::StatusOr<std::vector<std::string>> SamplesFile::Poll() {
  const auto failed = [&] { return absl::ErrnoToStatus(errno, path_); };
  struct stat now = {};
  std::vector<std::string> lines;
  if (stat(path_.c_str(), &now) != 0) {
    if (errno != ENOENT) return failed();
    looked_ = true;
    file_.Close();
    return lines;
  }
  if (!S_ISREG(now.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " is no regular file"));
  }
  if (!file_.open() || now.st_ino != inode_ || now.st_size < offset_) {
    file_ = runtime::Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_.open()) return failed();
    inode_ = now.st_ino;
    offset_ = looked_ ? 0 : now.st_size;
    begun_.clear();
    passing_ = false;
  }
  looked_ = true;
  if (now.st_size == offset_) return lines;

  std::array<char, kReadBytes> bytes;
  const ssize_t got = pread(file_.get(), bytes.data(), bytes.size(), offset_);
  if (got < 0) return failed();
  offset_ += got;
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    begun_.append(text.substr(0, end));
    if (begun_.size() > kLineBytes) {
      passing_ = true;
      begun_.clear();
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    if (std::exchange(passing_, false)) begun_.clear();
    lines.push_back(std::exchange(begun_, {}));
  }
  return lines;
}

}  // namespace tributary::retraining
