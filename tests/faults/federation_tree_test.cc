// A tree of aggregators, with processes of its own: deaths in it change no bit of the result.
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

constexpr int kRounds = 8;
constexpr int kLearners = 5;

std::string SmallModel() {
  nn::SelfSupervisedOptions options;
  options.encoder.channels = {2, 4};
  options.encoder.grid = 1;
  options.projection = 4;
  options.bottleneck = 2;
  return nn::EncodeEncoder(**nn::SelfSupervisedTrainer::Create(options));
}

// Five learners: one at the root, two below each of two children; or all of them at the root.
class TreeRun {
 public:
  enum Shape { kFlat, kTree };

  explicit TreeRun(Shape shape) {
    root_.Start();
    EXPECT_TRUE(root_.Ready()) << root_.process().Log();
    const std::string model = folder_.Write("initial.safetensors", SmallModel());
    const std::string nodes = std::to_string(shape == kTree ? 3 : kLearners);
    const std::string config =
        folder_.Write("run.toml", "name = \"r\"\nrounds = " + std::to_string(kRounds) +
                                      "\nmin_nodes = " + nodes + "\nquorum = " + nodes +
                                      "\ndeadline_s = 120.0\n[client]\nlocal_steps = 2\nbatch = 8\n");
    EXPECT_EQ(RunCommand(folder_, {"run", "start", config, "--model", model, "--aggregator",
                                   "127.0.0.1:" + std::to_string(root_.ingest_port())}),
              0)
        << ReadText(folder_.Path("command.log"));
    for (auto& child : children_) {
      if (shape == kTree) child.Start();
    }
    for (int i = 0; i < kLearners; ++i) {
      const AggregatorProcess& at = shape == kFlat || i == 0 ? root_ : children_[(i - 1) / 2];
      learners_.push_back(std::make_unique<LearnerProcess>(folder_, i, kLearners, at.ingest_port()));
      learners_.back()->Start();
    }
  }

  AggregatorProcess& root() { return root_; }
  AggregatorProcess& child(int index) { return children_[index]; }
  static void Kill(AggregatorProcess& aggregator) {
    aggregator.process().Signal(SIGKILL);
    EXPECT_EQ(aggregator.process().Wait(std::chrono::milliseconds(10'000)), 128 + SIGKILL);
  }
  void KillLearner(int index) {
    learners_[index]->process().Signal(SIGKILL);
    EXPECT_EQ(learners_[index]->process().Wait(std::chrono::milliseconds(10'000)), 128 + SIGKILL);
    learners_[index]->Start();
  }

  // Whether all nodes of a child have answered in its present round.
  bool SumWaits(int index) const {
    const auto answer = nlohmann::json::parse(children_[index].Get("/api/v1/runs/r"), nullptr, false);
    if (answer.is_discarded()) return false;
    return answer["run"].value("round", 0) > 0 && answer["run"].value("accepted_updates", 0) == 2;
  }
  bool WaitForRounds(int rounds) const {
    return WaitFor([&] { return CommittedRounds() >= rounds; }, std::chrono::seconds(120));
  }

  // The parameters' digest after the last round.
  std::string Finish() {
    EXPECT_TRUE(WaitForRounds(kRounds)) << root_.process().Log() << root_.Get("/api/v1/runs/r");
    const std::string file =
        ReadText(folder_.Path("root/models/r." + std::to_string(kRounds) + ".safetensors"));
    const auto set = parameters::DecodeSafetensors(file);
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() ? parameters::HexOf(parameters::ParameterIdentity(*set)) : "";
  }

 private:
  // How many rounds are committed; -1 if the root does not answer.
  int CommittedRounds() const {
    const auto answer = nlohmann::json::parse(root_.Get("/api/v1/runs/r"), nullptr, false);
    return answer.is_discarded() ? -1 : answer["run"].value("committed_rounds", -1);
  }
  std::string StoreKeys(const std::string& name) const {
    return "[federation]\nstore = \"" + folder_.Path(name) + "\"\n";
  }
  std::string ChildKeys(const std::string& name) const {
    return StoreKeys(name) +
           "[federation.parent]\naggregator = \"127.0.0.1:" + std::to_string(root_.ingest_port()) +
           "\"\nnode = \"" + name + "\"\nmin_nodes = 2\n";
  }

  ScratchFolder folder_;
  AggregatorProcess root_{folder_, "root", {"south"}, StoreKeys("root")};
  std::array<AggregatorProcess, 2> children_{
      AggregatorProcess(folder_, "attic", {"south"}, ChildKeys("attic")),
      AggregatorProcess(folder_, "hall", {"south"}, ChildKeys("hall"))};
  std::vector<std::unique_ptr<LearnerProcess>> learners_;
};

// The result of the same learners without aggregators in between; computed once.
const std::string& FlatResult() {
  static const std::string result = [] {
    TreeRun flat(TreeRun::kFlat);
    return flat.Finish();
  }();
  return result;
}

TEST(FederationTreeTest, GivesTheFlatRunsBits) {
  ASSERT_FALSE(FlatResult().empty());
  TreeRun tree(TreeRun::kTree);
  EXPECT_EQ(tree.Finish(), FlatResult());
  const std::string metrics = tree.child(0).Metrics();
  // The last answer is still on its way.
  EXPECT_TRUE(WaitFor([&] {
    return MetricValue(tree.child(0).Metrics(), "tributary_relay_sums_total{outcome=\"accepted\"}") ==
           kRounds;
  })) << metrics;
  EXPECT_EQ(MetricValue(tree.child(0).Metrics(), "tributary_relay_contributors_total"), 2 * kRounds);
  const auto runs = nlohmann::json::parse(tree.child(0).Get("/api/v1/runs"));
  EXPECT_EQ(runs.at("parent").at("accepted_sums"), std::to_string(kRounds));
  EXPECT_NE(runs.at("parent").at("state"), "PARENT_STATE_UNSPECIFIED");
  EXPECT_EQ(runs.at("parent").at("node"), "attic");
  EXPECT_EQ(runs.at("runs").at(0).at("strategy"), "relayed");
}

TEST(FederationTreeTest, AChildsDeathsChangeNoBit) {
  TreeRun tree(TreeRun::kTree);
  std::mt19937 random(1);
  std::uniform_int_distribution<int> later_ms(0, 150);
  for (int kill = 0; kill < kRounds; ++kill) {
    ASSERT_TRUE(tree.WaitForRounds(kill)) << "after " << kill << " deaths";
    std::this_thread::sleep_for(std::chrono::milliseconds(later_ms(random)));
    TreeRun::Kill(tree.child(kill % 2));
    tree.child(kill % 2).Start();
  }
  EXPECT_EQ(tree.Finish(), FlatResult());
}

TEST(FederationTreeTest, AParentThatIsDeadForAWhileChangesNoBit) {
  TreeRun tree(TreeRun::kTree);
  std::mt19937 random(2);
  std::uniform_int_distribution<int> later_ms(0, 150);
  for (int kill = 0; kill < kRounds / 2; ++kill) {
    ASSERT_TRUE(tree.WaitForRounds(2 * kill)) << "after " << kill << " deaths";
    std::this_thread::sleep_for(std::chrono::milliseconds(later_ms(random)));
    TreeRun::Kill(tree.root());
    // If it died within a round, it comes back while a child's sum waits for it.
    WaitFor([&] { return tree.SumWaits(0); }, std::chrono::seconds(1));
    tree.root().Start();
  }
  EXPECT_EQ(tree.Finish(), FlatResult());
}

TEST(FederationTreeTest, DeathsOnEveryLevelAtOnceChangeNoBit) {
  TreeRun tree(TreeRun::kTree);
  for (int kill = 0; kill < 3; ++kill) {
    ASSERT_TRUE(tree.WaitForRounds(2 * kill + 1)) << "after " << kill << " deaths";
    tree.KillLearner(1 + kill);
    TreeRun::Kill(tree.child(kill % 2));
    TreeRun::Kill(tree.root());
    tree.root().Start();
    tree.child(kill % 2).Start();
  }
  EXPECT_EQ(tree.Finish(), FlatResult());
}

}  // namespace
}  // namespace tributary::testing
