// Nodes that train a positioning network together on snapshots that their panels took: a real aggregator and
// real nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/nn/positioning/positioning_inference.h"
#include "core/parameters/npy.h"
#include "core/scene/room_examples.h"
#include "tests/integration/masked_run.h"

namespace tributary::testing::positioning {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kInputs = nn::PositioningNetwork::kInputs;
constexpr std::size_t kPoints = 100;  // of each panel
constexpr int kRounds = 4;
constexpr scene::Wall kPanels[] = {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth};

// A hall of another size and carrier than the rooms of the shipped model's training.
scene::RoomExamples Hall(std::uint64_t users) {
  return {.seed = users,
          .conditions = scene::RoomConditions::OfOneRoom(1),
          .plan = {.width_m = 18, .depth_m = 14, .height_m = 4.5, .carrier_hz = 5.2e9}};
}

std::vector<float> Snapshots(const scene::RoomExamples& hall, scene::Wall wall) {
  std::vector<float> features(kPoints * kInputs);
  for (std::size_t i = 0; i < kPoints; ++i) {
    hall.Sense(i, wall, std::span(features).subspan(i * kInputs).first<kInputs>());
  }
  return features;
}

// Mean error in the panel's frame, m, at places that no node has seen.
double ErrorOf(const nn::PositioningNetwork& network, scene::Wall wall) {
  const scene::RoomExamples others = Hall(99);
  std::vector<float> outputs(kPoints * nn::kGaussianOutputs);
  nn::PositioningInference(network, kPoints).Run(Snapshots(others, wall), kPoints, outputs);
  double sum = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const nn::GaussianPosition found = nn::PositionFromOutputs(
        network, std::span(outputs).subspan(i * nn::kGaussianOutputs, nn::kGaussianOutputs));
    const scene::RoomPosition at = scene::ToPanelFrame(others.plan, wall, others.User(i));
    sum += std::hypot(found.mean[0] - at.x, found.mean[1] - at.y);
  }
  return sum / kPoints;
}

// A node whose snapshots and positions are files, as a user has them. The last `without_position` snapshots
// have none.
class PanelNode {
 public:
  PanelNode(const ScratchFolder& folder, scene::Wall wall, int port, std::size_t without_position = 0) {
    const std::string name(scene::WallName(wall));
    const scene::RoomExamples hall = Hall(1);
    const std::vector<std::uint64_t> shape = {kPoints, kInputs};
    std::string positions = "x,y\n";
    for (std::size_t i = 0; i + without_position < kPoints; ++i) {
      positions += fmt::format("{},{}\n", hall.User(i).x, hall.User(i).y);
    }
    const scene::RoomPosition origin = scene::PanelOrigin(hall.plan, wall);
    const std::string config = folder.Write(
        name + ".toml",
        fmt::format("node = \"{}\"\n[http]\nlisten = \"\"\n[federation]\naggregator = \"127.0.0.1:{}\"\n"
                    "[federation.positioning]\nfeatures = \"{}\"\npositions = \"{}\"\n"
                    "orientation_deg = {:.1f}\nx_m = {:.3f}\ny_m = {:.3f}\n",
                    name, port,
                    folder.Write(name + ".npy", parameters::EncodeNpy(shape, Snapshots(hall, wall))),
                    folder.Write(name + ".csv", positions), scene::WallAngleDeg(wall), origin.x, origin.y));
    process_ = std::make_unique<Process>("tributary-node", std::vector<std::string>{"--config", config},
                                         folder.Path(name + ".log"));
  }

  Process& process() { return *process_; }

 private:
  std::unique_ptr<Process> process_;
};

TEST(PositioningRunTest, PanelsOfAHallLearnFromTheirSnapshots) {
  const std::string shipped = ReadText(TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors");
  const auto start = nn::DecodePositioning(shipped);
  ASSERT_TRUE(start.ok()) << start.status();
  MaskedRun run(shipped, fmt::format("rounds = {}\nmin_nodes = 3\n[client]\nworkload = \"positioning\"\n"
                                     "local_steps = 40\nbatch = 64\nlearning_rate = 0.004\n",
                                     kRounds));
  const ScratchFolder folder;
  std::vector<std::unique_ptr<PanelNode>> nodes;
  for (const scene::Wall wall : kPanels)
    nodes.push_back(std::make_unique<PanelNode>(folder, wall, run.port()));
  run.AwaitCommitted(kRounds);
  const auto network = nn::DecodePositioning(run.Model(kRounds));
  ASSERT_TRUE(network.ok()) << network.status();
  for (const scene::Wall wall : kPanels) {
    EXPECT_LT(ErrorOf(*network, wall), 0.8 * ErrorOf(*start, wall)) << scene::WallName(wall);
  }
}

TEST(PositioningRunTest, ANodeThatLacksAPositionRefusesToStart) {
  const ScratchFolder folder;
  PanelNode node(folder, scene::Wall::kSouth, ReservePort(), 1);
  EXPECT_EQ(node.process().Wait(std::chrono::seconds(20)), 78);
  EXPECT_THAT(node.process().Log(), HasSubstr("south.toml:8: federation.positioning.positions: "));
  EXPECT_THAT(node.process().Log(),
              HasSubstr("south.csv: 99 positions for 100 snapshots: each snapshot needs one position"));
}

}  // namespace
}  // namespace tributary::testing::positioning
