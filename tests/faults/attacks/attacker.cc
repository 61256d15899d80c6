// attacker NAME PORT SECONDS: attacks an aggregator on the loopback. Prints the names without arguments.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/attacks/attack.h"

namespace tributary::testing {
namespace {

std::vector<Attack> AllAttacks() {
  std::vector<Attack> all;
  for (const auto& some : {ConnectionAttacks(), FrameAttacks(), CallAttacks()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void Run(const Attack& attack, std::uint16_t port, std::chrono::seconds duration) {
  std::atomic<bool> over = false;
  const std::jthread clock([&over, duration] {
    std::this_thread::sleep_for(duration);
    over = true;
  });
  attack.run({port, over});
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
    } else if (argc == 4 && attack.name == argv[1]) {
      Run(attack, static_cast<std::uint16_t>(std::atoi(argv[2])), std::chrono::seconds(std::atoi(argv[3])));
      return 0;
    }
  }
  return argc < 2 ? 0 : 64;
}
