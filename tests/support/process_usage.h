// What a process that runs has used so far.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "tests/support/process.h"

namespace tributary::testing {

// User and system time of all its threads, in steps of 10 ms; 0 once it has ended.
inline double CpuSeconds(pid_t pid) {
  const std::string line = ReadText("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  // The name is field 2, utime and stime are fields 14 and 15.
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user_ticks = 0, system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  return (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The most memory that it has had; 0 once it has ended.
inline double PeakMiB(pid_t pid) {
  std::istringstream status(ReadText("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;  // of kB
  }
  return 0;
}

}  // namespace tributary::testing
