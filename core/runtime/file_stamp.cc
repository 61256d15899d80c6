#include "core/runtime/file_stamp.h"

#include <sys/stat.h>

namespace tributary::runtime {
namespace {

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileStamp StampOf(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size, Nanoseconds(found.st_mtim), Nanoseconds(found.st_ctim)};
}

}  // namespace tributary::runtime
