// The threads of a process, as the kernel shows them.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace tributary::testing {

struct ThreadStat {
  std::string name;  // its first 15 bytes
  int nice = 0;
};

// `pid`: "self", or a number. A thread that ends meanwhile is left out.
inline std::vector<ThreadStat> ThreadsOf(const std::string& pid) {
  std::vector<ThreadStat> threads;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + pid + "/task", gone)) {
    std::ifstream file(task.path() / "stat");
    const std::string stat((std::istreambuf_iterator<char>(file)), {});
    // proc(5): pid (name) state, and 15 more fields until the nice value.
    const std::size_t begin = stat.find('('), end = stat.rfind(')');
    if (begin == std::string::npos || end == std::string::npos) continue;
    std::istringstream fields(stat.substr(end + 1));
    std::vector<std::string> after_name((std::istream_iterator<std::string>(fields)), {});
    if (after_name.size() < 17) continue;
    threads.push_back({stat.substr(begin + 1, end - begin - 1), std::stoi(after_name[16])});
  }
  return threads;
}

}  // namespace tributary::testing
