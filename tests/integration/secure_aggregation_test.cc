// Runs of secure aggregation: a real aggregator and masking nodes.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/images/image_set.h"
#include "core/nn/encoder/encoder_file.h"
#include "node/learner/image_trainer.h"
#include "node/learner/learner.h"
#include "tests/integration/federation_simulated_node.h"
#include "tests/integration/masked_run.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

constexpr const char* kSecure = "[privacy]\nsecure_aggregation = true\n";

std::string SmallEncoder() {
  nn::SelfSupervisedOptions network;
  network.encoder.channels = {4, 8};
  network.projection = 8;
  network.bottleneck = 4;
  network.batch = 8;
  return nn::EncodeEncoder(**nn::SelfSupervisedTrainer::Create(network));
}

// Three learners with unlike numbers of images.
class Learners {
 public:
  explicit Learners(const MaskedRun& run) {
    for (int n = 0; n < 3; ++n) {
      learner::LearnerOptions options;
      options.client.aggregator = "127.0.0.1:" + std::to_string(run.port());
      options.client.node = "n" + std::to_string(n);
      options.client.run = "r";
      metrics_.push_back(std::make_unique<runtime::Metrics>());
      auto trainer = std::make_unique<learner::ImageTrainer>(images::DrawGlyphs(30 + 10 * n, 1 + n),
                                                             options.client.node, 0);
      learners_.push_back(
          std::make_unique<learner::Learner>(options, std::move(trainer), clock_, *metrics_.back()));
      learners_.back()->Start();
    }
  }
  const std::vector<std::unique_ptr<learner::Learner>>& all() const { return learners_; }
  std::string Text(int n) const { return metrics_[n]->Text(); }

 private:
  runtime::SystemClock clock_;
  std::vector<std::unique_ptr<runtime::Metrics>> metrics_;
  std::vector<std::unique_ptr<learner::Learner>> learners_;
};

constexpr const char* kThreeLearners = "min_nodes = 3\nquorum = 3\n[client]\nlocal_steps = 3\nbatch = 8\n";

// The model's file after two rounds.
std::string ModelOfLearners(const std::string& privacy, std::uint64_t masked_updates) {
  MaskedRun run(SmallEncoder(), "rounds = 2\n" + (kThreeLearners + privacy));
  Learners learners(run);
  run.AwaitCommitted(2);
  for (const auto& learner : learners.all()) {
    EXPECT_TRUE(WaitFor([&] { return learner->counters().accepted == 2; }));
    EXPECT_EQ(learner->counters().masked, masked_updates);
    EXPECT_EQ(learner->link_counters().refused_steps, 0U);
    EXPECT_EQ(learner->link_counters().lost_keys, 0U);
  }
  EXPECT_NE(run.Model(2), run.Model(1));
  return run.Model(2);
}

TEST(SecureAggregationTest, GivesTheModelOfThePlainRunBitForBit) {
  const std::string masked = ModelOfLearners(kSecure, 2);
  EXPECT_FALSE(masked.empty());
  EXPECT_EQ(masked, ModelOfLearners("", 0));
}

// The aggregator sees only masked words: the node refuses its own update.
TEST(SecureAggregationTest, AnUpdateOutOfRangeIsNotSent) {
  MaskedRun run(SmallEncoder(),
                std::string("rounds = 1\ndeadline_s = 1.0\nmax_element = 1e-6\n") + kThreeLearners + kSecure);
  const Learners learners(run);
  EXPECT_TRUE(WaitFor([&] { return learners.all()[0]->counters().refused >= 1; }));
  EXPECT_NE(learners.Text(0).find("tributary_learner_refused_updates_total{reason=\"out_of_range\"}"),
            std::string::npos);
  EXPECT_TRUE(WaitFor([&] { return run.Round(1).value("failure", "") != ""; }));
  for (const auto& learner : learners.all()) EXPECT_EQ(learner->link_counters().sent_bytes, 0U);
}

// Nodes with known updates, which wait for a test before they send them.
class Group {
 public:
  static constexpr std::size_t kElements = 1000;

  Group(MaskedRun& run, int count) : run_(run), nodes_(count) {
    for (int n = 0; n < count; ++n) Start(n);
  }
  ~Group() { Go(); }

  // Kills what was there before.
  void Start(int n) {
    Kill(n);
    nodes_[n] = std::make_unique<SimulatedNode>(
        run_.port(), "n" + std::to_string(n), "r",
        [this, n](const link::FederationClient::Assignment& assignment,
                  link::FederationClient&) -> std::optional<std::vector<float>> {
          ++training_;
          while (!go_ && !assignment.withdrawn.stop_requested()) std::this_thread::yield();
          if (assignment.withdrawn.stop_requested()) return std::nullopt;
          return Update(n);
        });
  }
  void Kill(int n) { nodes_[n].reset(); }
  void AwaitTraining(int count) {
    EXPECT_TRUE(WaitFor([&] { return training_ == count; })) << training_;
  }
  void Go() { go_ = true; }
  const SimulatedNode& node(int n) const { return *nodes_[n]; }

  static std::vector<float> Update(int n) {
    std::vector<float> update(kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
      update[i] = std::sin(static_cast<float>(1 + n) * static_cast<float>(1 + i));
    }
    return update;
  }

 private:
  MaskedRun& run_;
  std::atomic<bool> go_ = false;
  std::atomic<int> training_ = 0;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

std::string ZeroModel() { return OneTensorModel(std::vector<float>(Group::kElements)); }

// Six nodes. Two are killed during training, after they shared their keys.
std::string ModelOfSurvivors(const std::string& privacy) {
  MaskedRun run(ZeroModel(), "rounds = 1\nmin_nodes = 6\nquorum = 4\ndeadline_s = 4.0\n" + privacy);
  Group group(run, 6);
  group.AwaitTraining(6);
  group.Kill(2);
  group.Kill(5);
  group.Go();
  run.AwaitCommitted(1);
  EXPECT_EQ(run.Round(1).value("accepted", 0), 4);
  EXPECT_EQ(run.Round(1).value("dropped", 0), 2);
  const std::vector<float> parameters = run.Parameters(1);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    double mean = 0;
    for (const int n : {0, 1, 3, 4}) mean += 0.25 * Group::Update(n)[i];
    // 60 of weight times 1024 fill 2^31 at 15 bits: half a step from each of four, over 40; and floats.
    EXPECT_NEAR(parameters[i], mean, 4 * 0.5 * 0x1p-15 / 40 + 2e-7) << i;
  }
  return run.Model(1);
}

TEST(SecureAggregationTest, SumsTheSurvivorsExactlyWhenAThirdIsKilled) {
  EXPECT_EQ(ModelOfSurvivors(kSecure), ModelOfSurvivors(""));
}

TEST(SecureAggregationTest, ANodeThatRestartsTakesPartFromTheNextRoundOn) {
  MaskedRun run(ZeroModel(),
                std::string("rounds = 2\nmin_nodes = 4\nquorum = 3\ndeadline_s = 4.0\n") + kSecure);
  Group group(run, 4);
  group.AwaitTraining(4);
  group.Start(3);
  EXPECT_TRUE(WaitFor([&] { return group.node(3).counters().lost_keys == 1; }));
  group.Go();
  run.AwaitCommitted(2);
  EXPECT_EQ(run.Round(1).value("accepted", 0), 3);
  EXPECT_EQ(run.Round(2).value("accepted", 0), 4);
}

TEST(SecureAggregationTest, ARoundDoesNotSurviveTheAggregatorButTheNextOneComes) {
  MaskedRun run(ZeroModel(), std::string("rounds = 1\nmin_nodes = 4\nquorum = 3\n") + kSecure);
  Group group(run, 4);
  group.AwaitTraining(4);
  run.KillAggregator();
  group.Go();
  run.AwaitCommitted(1);
  EXPECT_NE(run.Round(1).value("failure", ""), "");
  EXPECT_EQ(run.Round(2).value("accepted", 0), 4);
  for (int n = 0; n < 4; ++n) EXPECT_EQ(group.node(n).counters().lost_keys, 0U);
}

// The aggregator adds the noise to the recovered mean; it relies on the nodes for the clipping.
TEST(SecureAggregationTest, AddsNoiseToTheMeanOfMaskedUpdates) {
  MaskedRun run(ZeroModel(),
                "rounds = 1\nmin_nodes = 3\nquorum = 3\nweighting = \"uniform\"\nclip_norm = 100.0\n"
                "[privacy]\nsecure_aggregation = true\nnoise_multiplier = 0.01\nnoise_seed = 7\n");
  Group group(run, 3);
  group.Go();
  run.AwaitCommitted(1);
  EXPECT_GT(run.Round(1).value("epsilon", 0.0), 0);
  const std::vector<float> parameters = run.Parameters(1);
  double square = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    double noise = parameters[i];
    for (int n = 0; n < 3; ++n) noise -= Group::Update(n)[i] / 3.0;
    square += noise * noise;
  }
  // A deviation of 0.01 · 100 / 3; that of an estimate from 1,000 is 1/√2000 of it: five of them.
  EXPECT_NEAR(std::sqrt(square / Group::kElements), 1.0 / 3, 5 * 0.0224 / 3);
}

}  // namespace
}  // namespace tributary::testing
