// A thousand boards that join one aggregator, with the real commands.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

constexpr int kJoiningBoards = 1'000;
constexpr int kAtOnce = 8;

TEST(JoinScaleTest, AThousandBoardsJoinWithinAMinute) {
  const ScratchFolder folder;
  const Certificates certificates(folder, "certs", {"aggregator"});
  AggregatorProcess aggregator(folder, "aggregator", {"south"},
                               "tls = true\n" + certificates.Table("aggregator") +
                                   "[access]\nauthority = \"" +
                                   std::filesystem::path(certificates.File("ca.pem")).parent_path().string() +
                                   "\"\ntokens = \"tokens.toml\"\n");
  std::vector<std::string> invite = {"token",     "invite",
                                     "--file",    folder.Path("tokens.toml"),
                                     "--ca",      certificates.File("ca.pem"),
                                     "--address", "localhost:" + std::to_string(aggregator.http_port())};
  for (int i = 0; i < kJoiningBoards; ++i) invite.push_back("--board=board-" + std::to_string(i));
  Process made("tributary", invite, folder.Path("invite.log"));
  ASSERT_EQ(made.Wait(std::chrono::seconds(20)), 0) << made.Log();
  const std::string token = made.Log().substr(0, made.Log().find('\n'));
  aggregator.Start();
  ASSERT_TRUE(WaitFor([&] {
    return aggregator.process().Log().find("aggregator listens on") != std::string::npos;
  })) << aggregator.process().Log();

  const auto began = std::chrono::steady_clock::now();
  std::atomic<int> next = 0, failed = 0;
  {
    std::vector<std::jthread> hands;
    for (int hand = 0; hand < kAtOnce; ++hand) {
      hands.emplace_back([&] {
        for (int board = next++; board < kJoiningBoards; board = next++) {
          const std::string out = folder.Path("board-" + std::to_string(board));
          Process join("tributary", {"join", token, "--out", out}, out + ".log");
          if (join.Wait(std::chrono::seconds(60)) != 0) ++failed;
        }
      });
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%d boards joined in %.1f s, %d at once\n", kJoiningBoards, seconds, kAtOnce);
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_EQ(failed, 0);
  EXPECT_LT(seconds, 60);

  std::set<std::string> names;
  std::istringstream issued(ReadText(certificates.File("issued.txt")));
  for (std::string line; std::getline(issued, line);) {
    const std::string name = line.substr(line.find(' ') + 1);
    if (name.starts_with("board-")) names.insert(name.substr(0, name.find(' ')));
  }
  EXPECT_EQ(names.size(), std::size_t{kJoiningBoards}) << "each board has a name of its own";
}

}  // namespace
}  // namespace tributary::testing
