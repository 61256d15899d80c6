// What federated training of a positioning network brings: one process, no network. Four nodes have the
// snapshots of one panel each, of one simulated room or of four, and train as in a run.
//
// Usage: positioning_federated_bench [KEY=VALUE...]: see Settings for the keys. For each seed, the mean error
// in cm and the NEES (2 is ideal) at other places of the same rooms and hardware, mean over the four panels:
// of the model as given, of nodes that train alone, of a run of all, of nodes that train on alone from the
// run's model (`then alone`), and of all snapshots in one place with as many steps as a node takes (`one
// place`) and as all nodes take together (`more steps`).
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/learning/client_settings.h"
#include "core/nn/positioning/positioning_inference.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "core/scene/room_examples.h"
#include "node/learner/positioning_trainer.h"

namespace tributary {
namespace {

constexpr std::size_t kInputs = nn::PositioningNetwork::kInputs;
constexpr std::size_t kJudgedPlaces = 1'000;  // of each panel

struct Settings {
  std::map<std::string, double> values = {
      {"first", 1},        {"seeds", 5},   {"points", 300},  // of each panel, of which held_out judges
      {"held_out", 0.2},   {"rounds", 20}, {"after", 20},  // rounds that a node trains alone from the average
      {"local_steps", 30}, {"batch", 64},  {"rate", 0.004},  // client.learning_rate
      {"rooms", 1},                                          // 1: one for all panels, 4: one each
      {"plan", 0},      // 1: of another size and carrier than those of the training
      {"mounting", 0},  // 1: panels are up to 2 cm and 2 degrees from where the node says
  };
  double operator[](const std::string& key) const { return values.at(key); }
  std::size_t Count(const std::string& key) const { return static_cast<std::size_t>(values.at(key)); }
};

// Panel `wall` of the rooms of one seed. `users`: 0 to train with, 1 to judge.
learner::PanelPoints Snapshots(const Settings& settings, std::uint64_t seed, scene::Wall wall,
                               std::uint64_t users, std::size_t count) {
  const auto panel = static_cast<std::uint64_t>(wall);
  const std::uint64_t room = 4 * seed + (settings["rooms"] > 1 ? panel : 0);
  scene::RoomExamples examples{1'000 * (2 * seed + users) + panel, scene::RoomConditions::OfOneRoom(room)};
  if (settings["plan"] > 0) examples.plan = scene::DrawRoomPlan(room);
  learner::PanelPoints points;
  points.features.resize(count * kInputs);
  for (std::size_t i = 0; i < count; ++i) {
    examples.Sense(i, wall, std::span(points.features).subspan(i * kInputs).first<kInputs>());
    const scene::RoomPosition at = settings["mounting"] > 0
                                       ? scene::ToPanelFrame(examples.plan, wall, examples.User(i))
                                       : examples.Label(i, wall);
    points.positions.push_back(static_cast<float>(at.x));
    points.positions.push_back(static_cast<float>(at.y));
  }
  return points;
}

struct Judged {
  double error_cm = 0, nees = 0;

  Judged& operator+=(const Judged& other) {
    error_cm += other.error_cm;
    nees += other.nees;
    return *this;
  }
};

Judged Judge(const parameters::TensorSet& model, const learner::PanelPoints& points) {
  const nn::PositioningNetwork network = *nn::PositioningFromTensors(model);
  nn::PositioningInference inference(network, points.count());
  std::vector<float> outputs(points.count() * nn::kGaussianOutputs);
  inference.Run(points.features, points.count(), outputs);
  Judged judged;
  const double weight = 1.0 / static_cast<double>(points.count());
  for (std::size_t i = 0; i < points.count(); ++i) {
    const auto [mean, factor] = nn::PositionFromOutputs(
        network, std::span(outputs).subspan(i * nn::kGaussianOutputs, nn::kGaussianOutputs));
    const double x = points.positions[2 * i] - mean[0], y = points.positions[2 * i + 1] - mean[1];
    const double first = x / factor[0], second = (y - factor[1] * first) / factor[2];
    judged += {100 * std::hypot(x, y) * weight, (first * first + second * second) * weight};
  }
  return judged;
}

// A run: its nodes, its model.
class Run {
 public:
  Run(const Settings& settings, std::uint64_t seed, std::uint64_t local_steps,
      const std::vector<learner::PanelPoints>& nodes, const parameters::TensorSet& model)
      : model_(model), outline_(model) {
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      nodes_.push_back(std::make_unique<learner::PositioningTrainer>(
          nodes[node], "panel" + std::to_string(node), settings["held_out"]));
    }
    v1::ClientSettings& client = *task_.train.mutable_settings();
    client = learning::DefaultClientSettings();
    client.set_workload("positioning");
    client.set_local_steps(local_steps);
    client.set_batch(settings.Count("batch"));
    client.set_learning_rate(settings["rate"]);
    client.set_seed(seed);
  }

  parameters::TensorSet Finish(std::uint64_t rounds) {
    std::vector<float> global = *outline_.Values(model_), update(global.size());
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      task_.round = round;
      std::vector<float> sum(global.size());
      for (const auto& node : nodes_) {
        v1::UpdateMetrics metrics;
        Check(node->Plan(task_, model_).status());
        Check(node->Train(task_, global, {}, update, metrics));
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += update[i];
      }
      for (std::size_t i = 0; i < sum.size(); ++i) global[i] += sum[i] / static_cast<float>(nodes_.size());
      model_ = outline_.Model(global);
    }
    return model_;
  }

 private:
  static void Check(const absl::Status& status) {
    if (status.ok()) return;
    std::cerr << status << "\n";
    std::exit(1);
  }

  parameters::TensorSet model_;
  learner::ModelOutline outline_;
  std::vector<std::unique_ptr<learner::PositioningTrainer>> nodes_;
  wire::TrainTask task_;
};

void Print(const char* what, const Judged& sum, double panels) {
  std::printf("  %s %.2f / %.1f", what, sum.error_cm / panels, sum.nees / panels);
  std::fflush(stdout);
}

void Compare(const Settings& settings, std::uint64_t seed, const parameters::TensorSet& model) {
  std::vector<learner::PanelPoints> nodes, others;
  std::vector<learner::PanelPoints> one_place(1);
  for (const scene::Wall wall :
       {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth, scene::Wall::kWest}) {
    nodes.push_back(Snapshots(settings, seed, wall, 0, settings.Count("points")));
    others.push_back(Snapshots(settings, seed, wall, 1, kJudgedPlaces));
    for (std::size_t i = 0; i < nodes.back().count(); ++i) one_place[0].Append(nodes.back(), i);
  }
  const auto everywhere = [&](const parameters::TensorSet& trained) {
    Judged sum;
    for (const learner::PanelPoints& each : others) sum += Judge(trained, each);
    return sum;
  };
  const auto panels = static_cast<double>(nodes.size());
  const std::uint64_t rounds = settings.Count("rounds");
  const std::uint64_t steps = settings.Count("local_steps");
  std::printf("seed %llu:", static_cast<unsigned long long>(seed));
  Print("shipped", everywhere(model), panels);
  Judged alone;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    alone += Judge(Run(settings, seed, steps, {nodes[node]}, model).Finish(rounds), others[node]);
  }
  Print("alone", alone, panels);
  const parameters::TensorSet together = Run(settings, seed, steps, nodes, model).Finish(rounds);
  Print("together", everywhere(together), panels);
  Judged then_alone;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    then_alone += Judge(Run(settings, seed, steps, {nodes[node]}, together).Finish(settings.Count("after")),
                        others[node]);
  }
  Print("then alone", then_alone, panels);
  Print("one place", everywhere(Run(settings, seed, steps, one_place, model).Finish(rounds)), panels);
  Print("more steps", everywhere(Run(settings, seed, nodes.size() * steps, one_place, model).Finish(rounds)),
        panels);
  std::printf("\n");
}

int Main(std::span<char*> arguments) {
  Settings settings;
  for (const std::string argument : arguments) {
    const std::size_t equals = argument.find('=');
    const auto key = settings.values.find(argument.substr(0, equals));
    if (equals == std::string::npos || key == settings.values.end()) {
      std::cerr << argument << ": expected one of";
      for (const auto& [name, value] : settings.values) std::cerr << " " << name << "=" << value;
      std::cerr << "\n";
      return 2;
    }
    key->second = std::atof(argument.c_str() + equals + 1);
  }
  const auto file = runtime::ReadFile(TRIBUTARY_MODEL);
  const auto model = file.ok() ? parameters::DecodeSafetensors(*file) : file.status();
  if (!model.ok()) {
    std::cerr << model.status() << "\n";
    return 1;
  }
  for (std::uint64_t seed = settings.Count("first"); seed < settings["first"] + settings["seeds"]; ++seed) {
    Compare(settings, seed, *model);
  }
  return 0;
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) { return tributary::Main(std::span(argv, argc).subspan(1)); }
