#include "core/runtime/memory_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tributary::runtime {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// A file of one number; "max" and what cannot be read limit nothing.
std::uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::uint64_t limit = 0;
  return file >> text && absl::SimpleAtoi(text, &limit) ? limit : kNone;
}

std::uint64_t LimitOfGroups(const std::string& root, std::string group, const char* file) {
  std::uint64_t limit = LimitIn(root + "/" + file);
  while (group.size() > 1) {
    limit = std::min(limit, LimitIn(root + group + "/" + file));
    group.resize(group.rfind('/'));
  }
  return limit;
}

// The process's line of /proc/self/cgroup is "0::/GROUP" in version 2, "N:memory:/GROUP" in version 1. In a
// container the folder of the group may be the root itself.
std::uint64_t LimitOfControlGroups(const MemorySources& sources) {
  std::ifstream file(sources.process + "/cgroup");
  std::uint64_t limit = kNone;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3 || !fields[2].starts_with('/')) continue;
    if (fields[1].empty()) {
      for (const char* root : {"", "/unified"}) {
        limit = std::min(limit, LimitOfGroups(sources.cgroups + root, fields[2], "memory.max"));
      }
    } else if (fields[1] == "memory") {
      limit = std::min(limit, LimitOfGroups(sources.cgroups + "/memory", fields[2], "memory.limit_in_bytes"));
    }
  }
  return limit;
}

std::uint64_t PageBytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

// /proc/self/statm: pages of address space, resident pages.
struct Pages {
  std::uint64_t address_space = 0;
  std::uint64_t resident = 0;
};

Descriptor OpenPages(const MemorySources& sources) {
  return Descriptor(open((sources.process + "/statm").c_str(), O_RDONLY | O_CLOEXEC));
}

Pages PagesIn(const Descriptor& statm) {
  std::array<char, 128> text{};
  const ssize_t bytes = pread(statm.get(), text.data(), text.size(), 0);
  const char* const end = text.data() + std::max<ssize_t>(bytes, 0);
  Pages pages;
  const char* const rest = std::from_chars(text.data(), end, pages.address_space).ptr;
  if (rest != end) std::from_chars(rest + 1, end, pages.resident);
  return pages;
}

}  // namespace

std::uint64_t MemoryLimit(const MemorySources& sources) {
  const long machine_pages = sysconf(_SC_PHYS_PAGES);
  const std::uint64_t machine =
      machine_pages > 0 ? static_cast<std::uint64_t>(machine_pages) * PageBytes() : kNone;
  return std::min(machine, LimitOfControlGroups(sources));
}

std::uint64_t ResidentBytes(const MemorySources& sources) { return ResidentMemory(sources).Bytes(); }

ResidentMemory::ResidentMemory(const MemorySources& sources) : statm_(OpenPages(sources)) {}

std::uint64_t ResidentMemory::Bytes() const { return PagesIn(statm_).resident * PageBytes(); }

std::uint64_t FreeMemory(const MemorySources& sources) {
  const auto left = [](std::uint64_t limit, std::uint64_t used) { return limit - std::min(limit, used); };
  const Pages pages = PagesIn(OpenPages(sources));
  std::uint64_t free = left(MemoryLimit(sources), pages.resident * PageBytes());
  rlimit address_space{};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    free = std::min(free, left(address_space.rlim_cur, pages.address_space * PageBytes()));
  }
  return free;
}

}  // namespace tributary::runtime
