#include "aggregator/learning/run/run_model.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tributary::learning {
namespace {

// FedAdam's second moment is not zero at first.
TEST(RunModelTest, WhereNoStateWasKeptTheStrategyIsANewOne) {
  char folder[] = "/tmp/run_model_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const auto store = store::Store::Open(folder);
  ASSERT_TRUE(store.ok()) << store.status();
  parameters::FlatModel initial;
  initial.layout.element_count = 3;
  initial.layout.tensors = {{"weights", {3}}};
  initial.values = {1, 2, 3};
  StrategyOptions options;
  options.kind = StrategyKind::kFedAdam;
  options.tau = 0.5;
  RunModel uninterrupted(options, initial);
  RunModel restarted(options, initial);
  ASSERT_TRUE(restarted.LoadStrategyState(**store, {}).ok());
  const std::vector<float> delta = {0.5f, -0.25f, 0};
  ASSERT_TRUE(uninterrupted.Step(delta).ok() && restarted.Step(delta).ok());
  EXPECT_EQ(restarted.Identity(), uninterrupted.Identity());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tributary::learning
