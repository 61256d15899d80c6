// attacker NAME PORT SECONDS [CERTIFICATE KEY CA]: attacks an aggregator on the loopback. Prints the names
// without arguments.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/attacks/attack.h"

namespace tributary::testing {
namespace {

std::vector<Attack> AllAttacks() {
  std::vector<Attack> all;
  for (const auto& some :
       {ConnectionAttacks(), FrameAttacks(), CrowdAttacks(), MessageAttacks(), CallAttacks()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void Run(const Attack& attack, std::span<char*> arguments) {
  std::atomic<bool> over = false;
  const std::chrono::seconds duration(std::atoi(arguments[1]));
  const std::jthread clock([&over, duration] {
    std::this_thread::sleep_for(duration);
    over = true;
  });
  Target target{.port = static_cast<std::uint16_t>(std::atoi(arguments[0])), .over = over};
  if (arguments.size() == 5) {
    target.certificate = arguments[2];
    target.key = arguments[3];
    target.ca = arguments[4];
  }
  attack.run(target);
}

}  // namespace
}  // namespace tributary::testing

int main(int argc, char** argv) {
  using namespace tributary::testing;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::signal(SIGPIPE, SIG_IGN);
  for (const Attack& attack : AllAttacks()) {
    if (argc < 2) {
      fmt::print("{}\n", attack.name);
    } else if ((argc == 4 || argc == 7) && attack.name == argv[1]) {
      Run(attack, {argv + 2, static_cast<std::size_t>(argc - 2)});
      return 0;
    }
  }
  return argc < 2 ? 0 : 64;
}
