// Checks of the machine that a node runs on: `tributary doctor` before the start, and the node while it runs.
// Each reads the system's files and blocks on nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/estimate/slot_length.h"
#include "node/checks/check_report.h"

namespace tributary::checks {

// What to do about a clock that is off.
inline constexpr char kDiscipline[] =
    "Run chrony or ptp4l here and on the aggregator, against the same source";

// "clock": what the kernel says of its discipline.
CheckLine JudgeSynchronisation(bool synchronised, std::int64_t estimated_error_us, estimate::SlotLength slot);
CheckLine CheckSynchronisation(estimate::SlotLength slot);

// "disk": a fault below 256 MiB on the disk of `folder`, a warning below 1 GiB.
CheckLine JudgeDisk(const std::string& folder, std::uint64_t free_bytes);
CheckLine CheckDisk(const std::string& folder);

// "free memory": a fault below 16 MiB, a warning below 64 MiB.
CheckLine JudgeMemory(std::uint64_t free_bytes);
// The smaller of what the machine has left and what this process may still take.
CheckLine CheckMemory();
// "MemAvailable" or "CmaFree" of /proc/meminfo in bytes; nullopt: there is no such line.
std::optional<std::uint64_t> MeminfoBytes(std::string_view key, const std::string& path = "/proc/meminfo");

// "device": whether this user may open the board's device node, any renderD* of `folder`.
CheckLine CheckDeviceNode(const std::string& folder = "/dev/dri");

// "certificates": this process's certificate, and the CA that expires first. `renews`: it replaces the
// certificate itself.
CheckLine JudgeExpiry(std::int64_t certificate_unix_s, std::int64_t ca_unix_s, std::int64_t now_unix_s,
                      bool renews);

// "renewal": whether the node could replace this certificate, run by this user.
CheckLine CheckRenewal(const std::string& certificate);

}  // namespace tributary::checks
