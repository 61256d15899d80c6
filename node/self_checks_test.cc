#include "node/self_checks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/runtime/clock.h"
#include "core/wire/node_status.h"
#include "tests/support/own_folder.h"

namespace tributary::node {
namespace {

constexpr std::int64_t kMinuteNs = 60'000'000'000;

class SelfChecksTest : public ::testing::Test {
 protected:
  const v1::NodeCheck* Find(const std::string& check) {
    status_.Clear();
    checks_.AddTo(status_);
    for (const v1::NodeCheck& each : status_.checks()) {
      if (each.check() == check) return &each;
    }
    return nullptr;
  }
  static NodeConfig Config() {
    NodeConfig config;
    config.panels.resize(1);
    config.disk.emplace();
    config.disk->folder = OwnFolder() + "/spool";
    return config;
  }

  runtime::ManualClock clock_{1'700'000'000'000'000'000};
  SelfChecks checks_{Config(), nullptr, clock_};
  v1::NodeStatus status_;
};

TEST_F(SelfChecksTest, SaysNothingBeforeItsFirstRun) {
  EXPECT_EQ(Find("disk"), nullptr);
  EXPECT_EQ(status_.checked_unix_ns(), 0);
}

TEST_F(SelfChecksTest, ChecksAtTheStartAndOnceAMinute) {
  checks_.Tick();
  ASSERT_NE(Find("disk"), nullptr);
  EXPECT_EQ(Find("disk")->finding(), v1::CHECK_FINDING_FAULT) << "the folder is missing";
  EXPECT_NE(Find("disk")->remedy(), "");
  EXPECT_EQ(status_.checked_unix_ns(), clock_.UnixNs());
  std::filesystem::create_directory(OwnFolder() + "/spool");
  checks_.Tick();
  EXPECT_EQ(Find("disk")->finding(), v1::CHECK_FINDING_FAULT) << "not checked again yet";
  clock_.Advance(kMinuteNs);
  checks_.Tick();
  EXPECT_NE(Find("disk")->found().find("MiB free"), std::string::npos);
}

TEST_F(SelfChecksTest, ChecksWhatTheConfigurationNeeds) {
  checks_.Tick();
  EXPECT_NE(Find("clock"), nullptr);
  EXPECT_NE(Find("free memory"), nullptr);
  EXPECT_EQ(Find("device"), nullptr) << "no panel uses a board";
  EXPECT_EQ(Find("certificates"), nullptr) << "no TLS";
  EXPECT_EQ(Find("renewal"), nullptr);
  NodeConfig board = Config();
  board.panels.front().accelerator.xrt.emplace();
  SelfChecks of_board(board, nullptr, clock_);
  of_board.Tick();
  of_board.AddTo(status_);
  EXPECT_EQ(status_.checks(status_.checks_size() - 4).check(), "device");
}

// What a node says of itself is not cut by its aggregator.
TEST_F(SelfChecksTest, FitsTheAggregatorsBounds) {
  checks_.Tick();
  Find("disk");
  const v1::NodeStatus kept = wire::BoundedStatus(status_);
  EXPECT_EQ(kept.checks_size(), status_.checks_size());
  EXPECT_LE(status_.checks_size(), static_cast<int>(wire::kMostChecks));
  EXPECT_EQ(kept.checks(0).SerializeAsString(), status_.checks(0).SerializeAsString());
}

}  // namespace
}  // namespace tributary::node
