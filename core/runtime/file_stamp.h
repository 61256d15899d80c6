// Whether a file is still the one that was read.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::runtime {

// All zero for a file that cannot be looked at. Every write, replacement and change of rights gives another
// stamp, but for two writes of equal size within one tick of the kernel's clock (4 ms).
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

// Follows links. Takes some microseconds.
FileStamp StampOf(const std::string& path);

}  // namespace tributary::runtime
