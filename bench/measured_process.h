// What a process has used so far: processor time and memory, from /proc and getrusage.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

[[noreturn]] inline void Die(const std::string& what) {
  std::fprintf(stderr, "federation_scale_bench: %s\n", what.c_str());
  std::_Exit(1);
}

// The aggregator that is measured.
class AggregatorProcess {
 public:
  explicit AggregatorProcess(const std::string& pid) : folder_("/proc/" + pid) {}

  // User and system time of all its threads, in steps of 10 ms.
  double CpuSeconds() const {
    std::ifstream file(folder_ + "/stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (line.rfind(')') == std::string::npos) Die("the aggregator has ended");
    std::istringstream fields(line.substr(line.rfind(')') + 2));
    std::vector<std::string> rest{std::istream_iterator<std::string>(fields), {}};
    // utime and stime are fields 14 and 15; `rest` begins with field 3.
    return static_cast<double>(std::stoll(rest.at(11)) + std::stoll(rest.at(12))) /
           static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  std::int64_t ResidentBytes() const { return StatusBytes("VmRSS:"); }
  std::int64_t PeakBytes() const { return StatusBytes("VmHWM:"); }
  void CheckThatItRuns() const { ResidentBytes(); }

 private:
  std::int64_t StatusBytes(std::string_view key) const {
    std::ifstream file(folder_ + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
    }
    Die("the aggregator has ended");
  }

  const std::string folder_;
};

inline double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace tributary
