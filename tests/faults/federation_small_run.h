// A run of three nodes and small models, with processes of its own, and its undisturbed result.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/safetensors.h"
#include "core/parameters/tensor.h"
#include "tests/faults/small_disk.h"
#include "tests/support/learners.h"

namespace tributary::testing {

inline constexpr int kNodes = 3;
inline constexpr int kRounds = 20;

// A run of small models by processes of their own.
class SmallRun {
 public:
  // With `disk_bytes`, the store has a file system of that size; without disk()->ready() nothing is started.
  explicit SmallRun(std::size_t disk_bytes = 0) {
    if (disk_bytes > 0) disk_.emplace(folder_, folder_.Path("store"), disk_bytes);
    if (!disk_ || disk_->ready()) Start();
  }

  SmallDisk& disk() { return *disk_; }
  AggregatorProcess& aggregator() { return aggregator_; }
  // The path of a file of the store for this process.
  std::string StorePath(const std::string& name) const {
    return disk_ ? disk_->Path(name) : folder_.Path("store/" + name);
  }
  void StartAggregator() { aggregator_.Start(disk_ ? disk_->launcher() : std::vector<std::string>()); }
  void KillAggregator() {
    aggregator_.process().Signal(SIGKILL);
    EXPECT_EQ(aggregator_.process().Wait(std::chrono::milliseconds(10'000)), 128 + SIGKILL);
    StartAggregator();
  }
  void StopNode(int index) {
    nodes_[index]->process().Signal(SIGKILL);
    EXPECT_EQ(nodes_[index]->process().Wait(std::chrono::milliseconds(10'000)), 128 + SIGKILL);
  }
  void StartNode(int index) { nodes_[index]->Start(); }
  void KillNode(int index) {
    StopNode(index);
    StartNode(index);
  }
  // Stops the last node while a round is under way and waits until this has the updates of all others.
  bool HoldARound() {
    const auto held = [this] {
      const nlohmann::json answer = Answer();
      const nlohmann::json run = answer.value("run", nlohmann::json::object());
      // If its own update is one of the accepted ones, the round ends with the last of the others.
      const std::string stopped = "learner-" + std::to_string(kNodes - 1);
      for (const nlohmann::json& node : answer.value("participants", nlohmann::json::array())) {
        if (node.value("node", "") == stopped && node.value("last_round", 0) == run.value("round", 0))
          return false;
      }
      return AcceptedInRound(run) == kNodes - 1 && run.value("connected_nodes", 0) == kNodes - 1;
    };
    for (int attempt = 0; attempt < 10; ++attempt) {
      StopNode(kNodes - 1);
      if (!WaitFor([&] { return held() || Show().value("state", "") == "RUN_STATE_WAITING"; })) return false;
      if (held()) return true;
      // It died between two rounds: the next round waits for it.
      StartNode(kNodes - 1);
      WaitFor([this] { return Show().value("state", "") == "RUN_STATE_RUNNING"; });
    }
    return false;
  }
  void GoOn() { StartNode(kNodes - 1); }

  // In the round under way; 0 between rounds.
  static int AcceptedInRound(const nlohmann::json& run) {
    return run.value("round", 0) == 0 ? 0 : run.value("accepted_updates", 0);
  }
  // How many rounds are committed; -1 if the aggregator does not answer.
  int CommittedRounds() const { return Show().value("committed_rounds", -1); }
  // The run as the aggregator shows it; an empty object without an answer.
  nlohmann::json Show() const { return Answer().value("run", nlohmann::json::object()); }
  std::string ModelFile(int round) const {
    return ReadText(StorePath("models/r." + std::to_string(round) + ".safetensors"));
  }

  // The parameters' digest after the last round.
  std::string Finish() {
    EXPECT_TRUE(WaitFor([this] { return CommittedRounds() == kRounds; }, std::chrono::seconds(120)))
        << aggregator_.process().Log() << aggregator_.Get("/api/v1/runs/r");
    const auto set = parameters::DecodeSafetensors(ModelFile(kRounds));
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() ? parameters::HexOf(parameters::ParameterIdentity(*set)) : "";
  }

 private:
  // With all parts of the page; an empty object without an answer.
  nlohmann::json Answer() const {
    auto answer = nlohmann::json::parse(aggregator_.Get("/api/v1/runs/r"), nullptr, false);
    return answer.is_discarded() ? nlohmann::json::object() : answer;
  }

  void Start() {
    nn::SelfSupervisedOptions options;
    // An update is larger than a page: a full disk has no room for it, also in a file that is there.
    options.encoder.channels = {8, 16};
    options.encoder.grid = 1;
    options.projection = 4;
    options.bottleneck = 2;
    const std::string model = nn::EncodeEncoder(**nn::SelfSupervisedTrainer::Create(options));
    const std::string model_path = folder_.Write("initial.safetensors", model);
    const std::string config =
        folder_.Write("run.toml", "name = \"r\"\nrounds = " + std::to_string(kRounds) +
                                      "\nmin_nodes = 3\nquorum = 3\ndeadline_s = 120.0\n"
                                      "[client]\nlocal_steps = 2\nbatch = 8\n");
    StartAggregator();
    EXPECT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    const std::vector<std::string> start = {"run",
                                            "start",
                                            config,
                                            "--model",
                                            model_path,
                                            "--aggregator",
                                            "127.0.0.1:" + std::to_string(aggregator_.ingest_port())};
    EXPECT_EQ(RunCommand(folder_, start), 0) << ReadText(folder_.Path("command.log"));
    for (int i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<LearnerProcess>(folder_, i, kNodes, aggregator_.ingest_port()));
      nodes_.back()->Start();
    }
  }

  ScratchFolder folder_;
  std::optional<SmallDisk> disk_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}, FederationKeys(folder_)};
  std::vector<std::unique_ptr<LearnerProcess>> nodes_;
};

// The result of the undisturbed run; computed once.
inline const std::string& QuietResult() {
  static const std::string result = [] {
    SmallRun run;
    return run.Finish();
  }();
  return result;
}

// Kills the aggregator `kills` times, spread over the whole run: when the kill's share of rounds is
// committed, and up to 150 ms later. So it dies within and between rounds, while nodes reconnect, and while
// it starts.
inline void ExpectTheQuietResultAfter(int kills) {
  SmallRun run;
  std::mt19937 random(1);
  std::uniform_int_distribution<int> later_ms(0, 150);
  int committed = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const int due = kill * kRounds / kills;
    if (committed < due) {
      ASSERT_TRUE(
          WaitFor([&] { return (committed = run.CommittedRounds()) >= due; }, std::chrono::seconds(120)))
          << "the run stands after round " << committed << " and " << kill << " kills";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(later_ms(random)));
    run.KillAggregator();
  }
  EXPECT_EQ(run.Finish(), QuietResult());
}

}  // namespace tributary::testing
