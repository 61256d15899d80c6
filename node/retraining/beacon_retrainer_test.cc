#include "node/retraining/beacon_retrainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "node/retraining/retrained_network.h"
#include "tests/support/any_beacon.h"
#include "tests/support/own_folder.h"

namespace tributary::retraining {
namespace {

using ::testing::HasSubstr;

// A network that fits its place exactly, and then an offset that it does not know.
class BeaconRetrainerTest : public ::testing::Test {
 protected:
  BeaconRetrainerTest() : folder_(OwnFolder() + "beacon_retrainer_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    model_.sha256 = "1234";
  }
  ~BeaconRetrainerTest() override {
    if (retrainer_) retrainer_->Stop();
    std::filesystem::remove_all(folder_);
  }

  void Start(RetrainingConfig config) {
    retrainer_ =
        std::make_unique<BeaconRetrainer>("south", std::move(config), model_, in_force_, 0, metrics_);
    retrainer_->Start();
  }
  // Ten a second from `from_s` on; positions are `offset_m` away from what the model says.
  std::vector<nn::BeaconExample> Samples(int from_s, int count, double offset_m) {
    std::uniform_real_distribution<double> range(1, 9);
    std::normal_distribution<double> noise(0, 0.05);
    std::vector<nn::BeaconExample> samples(static_cast<std::size_t>(count));
    std::int64_t unix_ns = from_s * std::int64_t{1'000'000'000};
    for (nn::BeaconExample& each : samples) {
      each.unix_ns = unix_ns += 100'000'000;
      for (double& value : each.ranges_m) value = range(random_);
      each.position_m = nn::PositionOf(
          model_, nn::BeaconForward(model_.parameters, nn::NormaliseRanges(model_, each.ranges_m)));
      for (double& value : each.position_m) value += offset_m + noise(random_);
    }
    return samples;
  }
  static std::string Line(const nn::BeaconExample& each) {
    return absl::StrCat(each.unix_ns, ",", each.ranges_m[0], ",", each.ranges_m[1], ",", each.ranges_m[2],
                        ",", each.position_m[0], ",", each.position_m[1], "\n");
  }
  // What a while of work makes true.
  template <typename Condition>
  bool Becomes(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      if (condition(retrainer_->status())) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  const std::string folder_;
  std::mt19937_64 random_{3};
  nn::BeaconNetwork model_ = testing::AnyBeacon();
  std::shared_ptr<BeaconInForce> in_force_ = std::make_shared<BeaconInForce>(model_);
  runtime::Metrics metrics_;
  std::unique_ptr<BeaconRetrainer> retrainer_;
};

TEST_F(BeaconRetrainerTest, PutsABetterNetworkInForceAndKeepsItOverARestart) {
  const std::string state = folder_ + "/learned.safetensors";
  Start({.http = true, .state_file = state});
  ASSERT_TRUE(retrainer_->Offer(Samples(0, 50, 0)).ok());
  ASSERT_TRUE(Becomes([](const RetrainingStatus& now) { return now.counters.samples == 50; }));
  EXPECT_FALSE(retrainer_->status().drifted);
  EXPECT_FALSE(std::filesystem::exists(state));

  ASSERT_TRUE(retrainer_->Offer(Samples(10, 200, 0.8)).ok());
  ASSERT_TRUE(Becomes([](const RetrainingStatus& now) { return now.counters.trainings > 0; }));
  ASSERT_TRUE(Becomes([](const RetrainingStatus& now) { return now.waiting_samples == 0; }));
  retrainer_->Stop();
  const RetrainingStatus status = retrainer_->status();
  EXPECT_EQ(status.counters.drifts, 1u);
  EXPECT_EQ(status.counters.samples, 250u);
  EXPECT_TRUE(status.drifted);
  EXPECT_LT(status.error_m, 0.2);
  const auto in_force = in_force_->content();
  EXPECT_NE(in_force.network->parameters, model_.parameters);
  EXPECT_THAT(metrics_.Text(), HasSubstr("tributary_retraining_drifts_total{panel=\"south\"} 1"));

  const auto kept = LoadRetrained(state, model_);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_TRUE(kept->has_value());
  for (std::size_t i = 0; i < model_.parameters.size(); ++i) {
    EXPECT_NEAR((*kept)->parameters[i], in_force.network->parameters[i], 1e-5);  // the file has floats
  }
  nn::BeaconNetwork another = model_;
  another.sha256 = "5678";
  EXPECT_FALSE(LoadRetrained(state, another)->has_value()) << "it was trained from another model";
  std::ofstream(state) << "damaged";
  EXPECT_THAT(std::string(LoadRetrained(state, model_).status().message()), HasSubstr(state));
  EXPECT_FALSE(LoadRetrained(folder_ + "/nothing", model_)->has_value());
}

TEST_F(BeaconRetrainerTest, FollowsAFileAndCountsWhatIsNoSample) {
  const std::string file = folder_ + "/samples.csv";
  Start({.samples_file = file});
  std::ofstream out(file);
  for (const nn::BeaconExample& each : Samples(0, 30, 0)) out << Line(each);
  out << "no sample\n1,2,3,nan,5,6\n1,-2,3,4,5,6\n\n";
  for (const nn::BeaconExample& each : Samples(10, 30, 0)) out << Line(each);
  out.close();
  EXPECT_TRUE(Becomes([](const RetrainingStatus& now) { return now.counters.samples == 60; }));
  EXPECT_EQ(retrainer_->status().counters.refused_samples, 4u);
  EXPECT_EQ(retrainer_->problem(), "");
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_TRUE(Becomes([](const RetrainingStatus& now) { return now.counters.unreadable_polls > 0; }));
  EXPECT_THAT(retrainer_->problem(), HasSubstr("no regular file"));
}

TEST_F(BeaconRetrainerTest, ANetworkThatCannotBeKeptIsInForceAllTheSame) {
  Start({.http = true, .state_file = folder_ + "/gone/learned.safetensors"});
  ASSERT_TRUE(retrainer_->Offer(Samples(0, 200, 0.8)).ok());
  ASSERT_TRUE(Becomes([](const RetrainingStatus& now) { return now.counters.unsaved_networks > 0; }));
  EXPECT_NE(in_force_->content().network->parameters, model_.parameters);
  EXPECT_THAT(retrainer_->problem(), HasSubstr("state: "));
}

TEST_F(BeaconRetrainerTest, AFloodIsRefusedAsAWhole) {
  Start({.http = true});
  const auto samples = Samples(0, static_cast<int>(BeaconRetrainer::kMostWaiting) + 1, 0);
  EXPECT_EQ(retrainer_->Offer(samples).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(retrainer_->status().waiting_samples, 0u);
}

}  // namespace
}  // namespace tributary::retraining
