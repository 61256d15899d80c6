#include "aggregator/learning/run/run_model.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <optional>
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
  ASSERT_TRUE(uninterrupted.Step(delta, 1).ok() && restarted.Step(delta, 1).ok());
  EXPECT_EQ(restarted.Identity(), uninterrupted.Identity());
  std::filesystem::remove_all(folder);
}

class ReleasedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/run_model_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    auto store = store::Store::Open(folder_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    parameters::FlatModel initial;
    initial.layout.element_count = 3;
    initial.layout.tensors = {{"weights", {3}}};
    initial.layout.file_header = "header";
    initial.values = {1, 2, 3};
    StrategyOptions options;
    options.kind = StrategyKind::kFedAdam;
    options.tau = 0.5;
    model_.emplace(options, initial);
  }
  ~ReleasedModelTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  std::unique_ptr<store::Store> store_;
  std::optional<RunModel> model_;
};

TEST_F(ReleasedModelTest, IsTheSameWhenItIsLoadedAgain) {
  const std::vector<float> delta = {0.5f, -0.25f, 0};
  ASSERT_TRUE(model_->Step(delta, 1).ok());
  const parameters::Sha256 before = model_->Identity();
  absl::StatusOr<WrittenModel> written = model_->Write(*store_, "r", 1, before, 0);
  ASSERT_TRUE(written.ok()) << written.status();
  auto state = model_->WriteStrategyState(*store_, "r", 1);
  ASSERT_TRUE(state.ok() && state->has_value()) << state.status();
  ASSERT_TRUE(written->file.Commit().ok() && (*state)->Commit().ok());
  store::ModelRecord record = written->record;
  record.file = written->file.facts();
  record.strategy_state = (*state)->facts();
  model_->Release();
  EXPECT_TRUE(model_->released());
  const absl::Status loaded = model_->Load(*store_, record);
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_FALSE(model_->released());
  EXPECT_EQ(model_->Identity(), before);
}

}  // namespace
}  // namespace tributary::learning
