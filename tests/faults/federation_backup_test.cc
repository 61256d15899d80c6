// A store that is backed up between rounds and restored after later ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/runtime/process.h"
#include "tests/faults/federation_small_run.h"

namespace tributary::testing {
namespace {

constexpr auto kBackupPatience = std::chrono::seconds(30);

TEST(FederationBackupTest, ARestoredRunEndsWithTheSameBits) {
  const ScratchFolder folder;
  SmallRun run;
  const std::string store = std::filesystem::path(run.StorePath("x")).parent_path();
  const std::string backup = folder.Path("backup");
  ASSERT_TRUE(WaitFor([&] { return run.CommittedRounds() >= 3; }, kBackupPatience));
  ASSERT_EQ(RunCommand(folder, {"backup", "--store", store, "--out", backup, "--json"}), 0)
      << ReadText(folder.Path("command.log"));
  const int then = run.CommittedRounds();
  ASSERT_TRUE(WaitFor([&] { return run.CommittedRounds() >= then + 3; }, kBackupPatience)) << "rounds go on";

  EXPECT_NE(RunCommand(folder, {"restore", "--backup", backup, "--store", store}), 0);
  EXPECT_NE(ReadText(folder.Path("command.log")).find("is there already"), std::string::npos);
  run.aggregator().process().Signal(SIGTERM);
  ASSERT_EQ(run.aggregator().process().Wait(kBackupPatience), runtime::kExitOk);
  std::filesystem::rename(store, store + "-lost");
  ASSERT_EQ(RunCommand(folder, {"restore", "--backup", backup, "--store", store}), 0)
      << ReadText(folder.Path("command.log"));
  run.StartAggregator();
  ASSERT_TRUE(run.aggregator().Ready()) << run.aggregator().process().Log();
  EXPECT_EQ(run.Finish(), QuietResult());
}

}  // namespace
}  // namespace tributary::testing
