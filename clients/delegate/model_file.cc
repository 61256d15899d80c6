#include "clients/delegate/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tributary::delegate {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

absl::Status FileFault(int error) {
  // strerror is not for threads.
  const std::string text = std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    case ENAMETOOLONG:
    case ELOOP:
      return absl::InvalidArgumentError(text);
    default:
      return absl::UnavailableError(text);
  }
}

}  // namespace

absl::StatusOr<std::string> ReadModelFile(const char* path) {
  // O_NONBLOCK: the opening of a named pipe would wait for a writer.
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found = {};
  if (file.number() < 0 || fstat(file.number(), &found) != 0) return FileFault(errno);
  if (!S_ISREG(found.st_mode)) return absl::FailedPreconditionError("no regular file");
  if (static_cast<std::size_t>(found.st_size) > kMostModelBytes) {
    return absl::ResourceExhaustedError("the file is larger than 2 GiB");
  }
  std::string content(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = read(file.number(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileFault(errno);
    if (got == 0) break;  // it was cut meanwhile
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

}  // namespace tributary::delegate
