// How much memory this process may have, and has.
#pragma once

#include <cstdint>
#include <string>

#include "core/runtime/descriptor.h"

namespace tributary::runtime {

// Where the system tells it; tests have folders of their own.
struct MemorySources {
  std::string process = "/proc/self";
  std::string cgroups = "/sys/fs/cgroup";
};

// The smallest of: memory.max of this process's control group and of each group above it (systemd's
// MemoryMax=; version 1: memory.limit_in_bytes), and the machine's memory. A source that cannot be read
// limits nothing.
std::uint64_t MemoryLimit(const MemorySources& sources = {});

// Bytes of this process in memory.
std::uint64_t ResidentBytes(const MemorySources& sources = {});

// The same for who asks often: the file stays open, which takes a quarter of the time. Any thread.
class ResidentMemory {
 public:
  explicit ResidentMemory(const MemorySources& sources = {});
  std::uint64_t Bytes() const;

 private:
  Descriptor statm_;
};

// Bytes that this process may still take: below MemoryLimit() and below the limit of its address space
// (ulimit -v). 0: none.
std::uint64_t FreeMemory(const MemorySources& sources = {});

}  // namespace tributary::runtime
