// Panels first: which threads of the aggregator give way to which.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "core/runtime/thread_rank.h"
#include "tests/support/fleet.h"
#include "tests/support/learners.h"
#include "tests/support/thread_stat.h"

namespace tributary::testing {
namespace {

using runtime::NiceLevels;
using runtime::ThreadRank;

class ThreadRanksTest : public ::testing::Test {
 protected:
  ThreadRanksTest() : aggregator_(folder_, "aggregator", {"panel"}, FederationKeys(folder_)) {
    aggregator_.Start();
    EXPECT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    // A thread that has just started may have no name yet.
    EXPECT_TRUE(WaitFor([this] {
      nice_.clear();
      for (const ThreadStat& each : ThreadsOf(std::to_string(aggregator_.process().pid()))) {
        nice_[each.name] = each.nice;
      }
      return std::ranges::all_of(kNames, [this](const char* name) { return nice_.contains(name); });
    }));
    main_ = nice_.at("tributary-aggre");
  }

  static constexpr std::array kNames = {"tributary-aggre", "ingest",     "accept", "callbacks",
                                        "rounds",          "rare calls", "http"};

  int Expected(ThreadRank rank) const { return std::min(main_ + NiceLevels(rank), 19); }

  const ScratchFolder folder_;
  AggregatorProcess aggregator_;
  std::map<std::string, int> nice_;  // by the thread's name
  int main_ = 0;
};

TEST_F(ThreadRanksTest, WhatFusesComesBeforeLearningAndHttp) {
  for (const char* name : {"ingest", "accept"}) {
    EXPECT_EQ(nice_[name], Expected(ThreadRank::kFusion)) << name;
  }
  for (const char* name : {"callbacks", "rounds", "rare calls", "http"}) {
    EXPECT_EQ(nice_[name], Expected(ThreadRank::kBackground)) << name;
  }
}

// They end calls; the door notices them within milliseconds.
TEST_F(ThreadRanksTest, FusionComesBeforeTheThreadsThatGrpcStarts) {
  EXPECT_TRUE(WaitFor([this] {
    int found = 0;
    for (const ThreadStat& each : ThreadsOf(std::to_string(aggregator_.process().pid()))) {
      if (each.name != "default-executo") continue;
      if (each.nice != Expected(ThreadRank::kBackground)) return false;
      ++found;
    }
    return found > 0;
  }));
}

// The name of gRPC's own threads for callbacks, which would read the panels' frames in turn with the ingest
// threads.
TEST_F(ThreadRanksTest, NoThreadOfLearningReadsThePanelsFrames) {
  EXPECT_FALSE(nice_.contains("nexting_thread"));
}

}  // namespace
}  // namespace tributary::testing
