// What a node gains that keeps its priors, or all of the head of its classifier, to itself. Nodes with few
// classes each: one classifier for all (FedAvg), a classifier of each node alone, a shared classifier whose
// logits each node shifts by its priors, and a shared encoder that learns through a head drawn in each node,
// shifted likewise. All take the same number of steps. One process, no network.
//
// Usage: personal_heads_bench IMAGES LABELS TEST_IMAGES TEST_LABELS [KEY=NUMBER...]
// "drawn_rate" is the rate below a head that is drawn; "only" takes one of the four ways, from 1 on.
// Prints a line per seed and the mean of all; an accuracy is the mean over the nodes, each judged by test
// images in its own proportions of classes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/classifier_nodes.h"
#include "core/images/split.h"
#include "core/nn/encoder/class_priors.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "core/nn/encoder/supervised_trainer.h"

namespace tributary {
namespace {

using nn::SupervisedTrainer;

const Settings kDefaults = {
    {"nodes", 50},       {"alpha", 0.1},    {"images", 7000}, {"test_images", 2000},
    {"seeds", 5},        {"first_seed", 1}, {"rounds", 100},  {"steps", 10},
    {"batch", 16},       {"rate", 0.2},     {"decay", 5e-4},  {"server_momentum", 0.5},
    {"drawn_rate", 3.2}, {"only", 0},       {"crop", 0.3},    {"contrast", 0.2},
    {"brightness", 0.1}, {"rotation", 10},  {"flip", 0}};

constexpr std::size_t kMethods = 4;
using Accuracies = std::array<double, kMethods>;

void Print(const std::string& name, const Accuracies& accuracies) {
  std::printf("%-8s", name.c_str());
  constexpr const char* kNames[kMethods] = {"one for all", "alone", "adjusted", "personal"};
  for (std::size_t i = 0; i < kMethods; ++i) std::printf("  %s %5.1f %%", kNames[i], 100 * accuracies[i]);
  std::printf("\n");
  std::fflush(stdout);
}

using Node = ClassifierNode;

class Comparison {
 public:
  Comparison(const Sets& sets, const Settings& settings, std::uint64_t seed)
      : sets_(sets), settings_(settings), seed_(seed) {
    options_.encoder.side = sets.train.side;
    options_.encoder.input_channels = sets.train.channels;
    options_.batch = Count("batch");
    options_.learning_rate = settings.at("rate");
    options_.weight_decay = settings.at("decay");
    options_.schedule_steps = Count("rounds") * Count("steps");
    options_.seed = seed;
    Deal();
    trainer_ = NewTrainer();
    fresh_ = nn::FreshClassifier(options_.encoder, options_.classes, seed);
  }

  Accuracies Run() {
    const std::function<double()> methods[kMethods] = {
        [this] { return Federated(/*adjusted=*/false); }, [this] { return Alone(); },
        [this] { return Federated(/*adjusted=*/true); }, [this] { return Personal(); }};
    Accuracies result = {};
    for (std::size_t i = 0; i < kMethods; ++i) {
      if (Count("only") == 0 || Count("only") == i + 1) result[i] = methods[i]();
    }
    Print("seed " + std::to_string(seed_), result);
    return result;
  }

 private:
  std::size_t Count(const char* key) const { return static_cast<std::size_t>(settings_.at(key)); }

  std::unique_ptr<SupervisedTrainer> NewTrainer(std::vector<float> log_priors = {}) const {
    nn::StrongAugmentationOptions views{.side = sets_.train.side, .channels = sets_.train.channels};
    views.crop = settings_.at("crop");
    views.contrast = settings_.at("contrast");
    views.brightness = settings_.at("brightness");
    views.rotation_deg = settings_.at("rotation");
    views.flip = settings_.at("flip");
    views.saturation = views.grey = views.hue_deg = 0;
    nn::SupervisedOptions options = options_;
    options.log_priors = std::move(log_priors);
    return *SupervisedTrainer::Create(options, nn::CreateStrongAugmenter(views));
  }

  // Images of the set drawn at random, and split over the nodes.
  void Deal() {
    const std::vector<std::uint32_t> drawn = DrawImages(sets_.train, Count("images"), seed_);
    std::vector<std::uint8_t> labels;
    for (const std::uint32_t i : drawn) labels.push_back(sets_.train.labels[i]);
    const auto parts = *images::SplitImages(
        drawn.size(), labels, {images::ImageSplit::kDirichlet, Count("nodes"), settings_.at("alpha"), seed_});
    for (const std::vector<std::uint32_t>& part : parts) {
      std::vector<std::uint32_t> of_set;
      for (const std::uint32_t i : part) of_set.push_back(drawn[i]);
      Node node;
      TakePart(sets_.train, std::move(of_set), options_.batch, seed_ * 1000 + nodes_.size(), node);
      nodes_.push_back(std::move(node));
    }
  }

  void Train(const Node& node, std::uint64_t first, std::uint64_t steps) {
    TrainNode(node, first, steps, options_.batch, *trainer_);
  }

  double Judge(const Node& node) { return JudgeNode(node, sets_.test, Count("test_images"), *trainer_); }

  double Mean(auto judge) {
    double sum = 0;
    for (Node& node : nodes_) sum += judge(node) / static_cast<double>(nodes_.size());
    return sum;
  }

  // As learner::ClassifierTrainer has them.
  std::vector<float> LogPriors(const Node& node) const {
    std::vector<std::uint8_t> labels;
    for (const std::uint32_t i : node.part) labels.push_back(sets_.train.labels[i]);
    return nn::LogPriors(labels, options_.classes);
  }

  double Federated(bool adjusted) {
    velocity_.clear();
    std::vector<float> global = fresh_;
    const auto adjust = [&](const Node& node) {
      if (adjusted) trainer_ = NewTrainer(LogPriors(node));
      Start(global);
    };
    for (std::uint64_t round = 0; round < Count("rounds"); ++round) {
      std::vector<double> sum(global.size());
      double weights = 0;
      for (Node& node : nodes_) {
        adjust(node);
        Train(node, round * Count("steps"), Count("steps"));
        Add(node, trainer_->parameters(), sum, weights);
      }
      Move(sum, weights, global);
    }
    const double accuracy = Mean([&](const Node& node) {
      adjust(node);
      return Judge(node);
    });
    trainer_ = NewTrainer();
    return accuracy;
  }

  double Alone() {
    return Mean([&](Node& node) {
      Start(fresh_);
      Train(node, 0, options_.schedule_steps);
      return Judge(node);
    });
  }

  // The head is the fresh classifier's, and stays so.
  double Personal() {
    const nn::SupervisedOptions before = options_;
    options_.head_learns = false;
    options_.learning_rate = settings_.at("drawn_rate");
    const double accuracy = Federated(/*adjusted=*/true);
    options_ = before;
    trainer_ = NewTrainer();
    return accuracy;
  }

  // FedAvgM: the server's momentum, which carries the model over rounds.
  void Move(const std::vector<double>& sum, double weights, std::vector<float>& model) {
    velocity_.resize(model.size());
    for (std::size_t i = 0; i < model.size(); ++i) {
      velocity_[i] = settings_.at("server_momentum") * velocity_[i] + sum[i] / weights - model[i];
      model[i] += static_cast<float>(velocity_[i]);
    }
  }

  void Start(std::span<const float> parameters) { StartFrom(parameters, *trainer_); }
  void Add(const Node& node, std::span<const float> trained, std::vector<double>& sum,
           double& weights) const {
    const auto weight = static_cast<double>(node.part.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * trained[i];
    weights += weight;
  }

  const Sets& sets_;
  const Settings& settings_;
  const std::uint64_t seed_;
  nn::SupervisedOptions options_;
  std::vector<Node> nodes_;
  std::unique_ptr<SupervisedTrainer> trainer_;
  std::vector<float> fresh_;
  std::vector<double> velocity_;
};

void CompareAll(const Sets& sets, const Settings& settings) {
  Accuracies mean = {};
  const int seeds = static_cast<int>(settings.at("seeds"));
  for (int i = 0; i < seeds; ++i) {
    const std::uint64_t seed =
        static_cast<std::uint64_t>(settings.at("first_seed")) + static_cast<std::uint64_t>(i);
    const Accuracies result = Comparison(sets, settings, seed).Run();
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += result[k] / seeds;
  }
  Print("mean", mean);
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  return tributary::RunClassifierBench(argc, argv, tributary::kDefaults, tributary::CompareAll);
}
