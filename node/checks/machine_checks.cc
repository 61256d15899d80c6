#include "node/checks/machine_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "absl/status/status.h"
#include "core/config/live_tls.h"
#include "core/runtime/clock_discipline.h"
#include "core/runtime/file.h"
#include "core/runtime/memory_limit.h"

namespace tributary::checks {
namespace {

constexpr std::uint64_t kNeededDiskBytes = 256ull << 20;  // a learner's state, twice while it is replaced
constexpr std::uint64_t kScarceDiskBytes = 1024ull << 20;
constexpr std::uint64_t kNeededMemoryBytes = 16ull << 20;
constexpr std::uint64_t kScarceMemoryBytes = 64ull << 20;

}  // namespace

CheckLine JudgeSynchronisation(bool synchronised, std::int64_t estimated_error_us,
                               estimate::SlotLength slot) {
  const std::string found = fmt::format("estimated error {} us", estimated_error_us);
  if (!synchronised) return {"clock", Finding::kWarning, "not synchronised, " + found, kDiscipline};
  if (1000 * estimated_error_us > slot.ns() / 2) {
    return {"clock", Finding::kWarning, "synchronised, " + found, "Use PTP or a nearer NTP server"};
  }
  return {"clock", Finding::kOk, "synchronised, " + found};
}

CheckLine CheckSynchronisation(estimate::SlotLength slot) {
  const runtime::ClockDiscipline clock = runtime::ReadClockDiscipline().value_or(runtime::ClockDiscipline{});
  return JudgeSynchronisation(clock.synchronised, std::llround(1e6 * clock.estimated_error_s), slot);
}

CheckLine JudgeDisk(const std::string& folder, std::uint64_t free_bytes) {
  const std::string found = fmt::format("{} MiB free in {}", free_bytes >> 20, folder);
  if (free_bytes < kNeededDiskBytes) return {"disk", Finding::kFault, found, "Free at least 256 MiB"};
  if (free_bytes < kScarceDiskBytes) return {"disk", Finding::kWarning, found, "Less than 1 GiB"};
  return {"disk", Finding::kOk, found};
}

CheckLine CheckDisk(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (!error && access(folder.c_str(), W_OK) != 0) {
    return {"disk", Finding::kWarning, fmt::format("{}: {}", folder, std::strerror(errno)),
            "Let the node's user write there, and run doctor as that user"};
  }
  if (!error) return JudgeDisk(folder, space.available);
  return {"disk", Finding::kFault, fmt::format("{}: {}", folder, error.message()),
          "Make the folder, or name another one"};
}

CheckLine JudgeMemory(std::uint64_t free_bytes) {
  const std::string found = fmt::format("{} MiB", free_bytes >> 20);
  const char* const remedy = "Stop other programs, or raise MemoryMax of the service";
  if (free_bytes < kNeededMemoryBytes) return {"free memory", Finding::kFault, found, remedy};
  if (free_bytes < kScarceMemoryBytes) return {"free memory", Finding::kWarning, found, remedy};
  return {"free memory", Finding::kOk, found};
}

CheckLine CheckMemory() {
  const std::uint64_t machine =
      MeminfoBytes("MemAvailable").value_or(std::numeric_limits<std::uint64_t>::max());
  return JudgeMemory(std::min(machine, runtime::FreeMemory()));
}

std::optional<std::uint64_t> MeminfoBytes(std::string_view key, const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    const std::size_t begin = line.find_first_not_of(" \t", key.size() + 1);
    if (begin == std::string::npos) return std::nullopt;
    std::uint64_t kib = 0;
    const auto [end, error] = std::from_chars(line.data() + begin, line.data() + line.size(), kib);
    if (error != std::errc() || std::string_view(end) != " kB") return std::nullopt;
    if (kib > std::numeric_limits<std::uint64_t>::max() / 1024) return std::nullopt;
    return 1024 * kib;
  }
  return std::nullopt;
}

CheckLine CheckDeviceNode(const std::string& folder) {
  std::error_code error;
  std::string closed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with("renderD")) continue;
    if (access(path.c_str(), R_OK | W_OK) == 0) return {"device", Finding::kOk, path + " can be opened"};
    closed = path;
  }
  if (closed.empty()) {
    return {"device", Finding::kFault, fmt::format("there is no {}/renderD*", folder),
            "Is the board connected, and its driver loaded (lsmod: zocl or xocl)?"};
  }
  return {"device", Finding::kFault, fmt::format("this user may not open {}", closed),
          "Install deploy/udev/70-tributary-fpga.rules, run `usermod -aG fpga USER`, log in again"};
}

CheckLine JudgeExpiry(std::int64_t certificate_unix_s, std::int64_t ca_unix_s, std::int64_t now_unix_s,
                      bool renews) {
  const std::string own = config::ExpiryWarning(certificate_unix_s, now_unix_s);
  const std::string ca = config::ExpiryWarning(ca_unix_s, now_unix_s);
  if (own.empty() && ca.empty()) return {"certificates", Finding::kOk, "none expires within 30 days"};
  std::string found = own.empty() ? "" : "the node's certificate " + own;
  if (!ca.empty()) found += (found.empty() ? "the CA " : "; the CA ") + ca;
  const bool expired = std::min(certificate_unix_s, ca_unix_s) <= now_unix_s;
  const char* const remedy = renews && ca.empty()
                                 ? "The node renews it; if it does not, its log has the reason"
                                 : config::kExpiryRemedy;
  return {"certificates", expired ? Finding::kFault : Finding::kWarning, found, remedy};
}

CheckLine CheckRenewal(const std::string& certificate) {
  if (const absl::Status status = runtime::CheckFolderOf(certificate); !status.ok()) {
    return {"renewal", Finding::kFault, std::string(status.message()),
            "Keep the certificate in a folder that the node may write, as /var/lib/tributary/certs, and run "
            "doctor as the node's user"};
  }
  return {"renewal", Finding::kOk,
          certificate + " can be replaced; the aggregator needs authority in [access]"};
}

}  // namespace tributary::checks
