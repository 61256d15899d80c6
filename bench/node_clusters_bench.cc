// Whether clusters of nodes are found from their updates, and what splitting a run by them brings. Nodes of
// one cluster name the classes alike, or hold their images alike; in the worlds without clusters all do, with
// equal or with few classes each. One process, no network.
//
// Usage: node_clusters_bench IMAGES LABELS TEST_IMAGES TEST_LABELS [KEY=NUMBER...]
// Prints a line per world and seed. Rounds: committed ones until clusters were found for the first time.
// Index: adjusted Rand index of the clusters [Hubert85], 1 if they are the true ones. Accuracies are means
// over nodes, each judged by test images of its own world: one model for all, each node alone, and one model
// for each cluster from the round in which it was found. All take the same number of steps.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregator/learning/rules/node_clusters.h"
#include "bench/classifier_nodes.h"
#include "core/images/split.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary {
namespace {

using nn::SupervisedTrainer;

const Settings kDefaults = {{"nodes", 20}, {"clusters", 4},   {"images", 8000}, {"test_images", 1000},
                            {"seeds", 5},  {"first_seed", 1}, {"rounds", 60},   {"steps", 10},
                            {"batch", 16}, {"rate", 0.2},     {"decay", 5e-4},  {"alpha", 0.3},
                            {"crop", 0.3}, {"contrast", 0.2}, {"most", 8},      {"world", -1}};

enum class World { kOtherNames, kTurnedImages, kUnequalClusters, kFewClasses, kAlike };
constexpr const char* kWorlds[] = {"other names", "turned images", "unequal", "few classes", "alike"};

using Partition = std::vector<std::size_t>;  // of each node, its cluster

double AdjustedRandIndex(const Partition& a, const Partition& b) {
  const auto pairs = [](double n) { return n * (n - 1) / 2; };
  std::map<std::pair<std::size_t, std::size_t>, double> both;
  std::map<std::size_t, double> of_a, of_b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ++both[{a[i], b[i]}];
    ++of_a[a[i]];
    ++of_b[b[i]];
  }
  double together = 0, sum_a = 0, sum_b = 0;
  for (const auto& [key, n] : both) together += pairs(n);
  for (const auto& [key, n] : of_a) sum_a += pairs(n);
  for (const auto& [key, n] : of_b) sum_b += pairs(n);
  const double expected = sum_a * sum_b / pairs(static_cast<double>(a.size()));
  const double most = (sum_a + sum_b) / 2;
  return most == expected ? 1 : (together - expected) / (most - expected);
}

// A quarter turn of each square image, `turns` times.
void Turn(images::ImageSet& set, std::size_t turns) {
  const std::size_t side = set.side;
  std::vector<std::uint8_t> turned(side * side);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    for (std::size_t first = 0; first < set.pixels.size(); first += side * side) {
      for (std::size_t y = 0; y < side; ++y) {
        for (std::size_t x = 0; x < side; ++x)
          turned[x * side + side - 1 - y] = set.pixels[first + y * side + x];
      }
      std::ranges::copy(turned, set.pixels.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
}

struct Node : ClassifierNode {
  std::size_t cluster = 0;  // the true one
};

class Comparison {
 public:
  Comparison(const Sets& sets, const Settings& settings, World world, std::uint64_t seed)
      : settings_(settings), world_(world), seed_(seed) {
    options_.encoder.side = sets.train.side;
    options_.encoder.input_channels = sets.train.channels;
    options_.batch = Count("batch");
    options_.learning_rate = settings.at("rate");
    options_.weight_decay = settings.at("decay");
    options_.schedule_steps = Count("rounds") * Count("steps");
    options_.seed = seed;
    Deal(sets);
    nn::StrongAugmentationOptions views{.side = sets.train.side, .channels = sets.train.channels};
    views.crop = settings.at("crop");
    views.contrast = settings.at("contrast");
    views.rotation_deg = views.saturation = views.grey = views.hue_deg = 0;
    trainer_ = *SupervisedTrainer::Create(options_, nn::CreateStrongAugmenter(views));
    fresh_ = nn::FreshClassifier(options_.encoder, options_.classes, seed);
  }

  void Run() {
    const Partition all(nodes_.size(), 0);
    std::optional<learning::FoundClusters> found;
    std::uint64_t found_after = 0;
    std::vector<float> model_then;
    learning::NodeClusters clusters(Count("most"), {});
    std::string last;
    const double together = Federated(
        all, {fresh_}, 0, [&](std::uint64_t round, const std::vector<float>& before, std::size_t node) {
          if (node == nodes_.size()) {
            clusters.EndRound();
            const learning::FoundClusters now = clusters.Find();
            last = now.why_none;
            if (!found && now.why_none.empty()) {
              found = now;
              found_after = round + 1;
              model_then = before;
            }
            return;
          }
          std::vector<float> update(before.size());
          for (std::size_t i = 0; i < update.size(); ++i) update[i] = trainer_->parameters()[i] - before[i];
          clusters.Add(Name(node), 0, update);
        });
    const double alone = Mean([&](Node& node) {
      Start(fresh_);
      Train(node, 0, options_.schedule_steps);
      return Judge(node);
    });
    std::printf("%-14s seed %llu  ", kWorlds[static_cast<int>(world_)],
                static_cast<unsigned long long>(seed_));
    if (!found) {
      std::printf("none (%s)  together %.1f %%  alone %.1f %%\n", last.c_str(), 100 * together, 100 * alone);
    } else {
      Partition part(nodes_.size(), 0), truth;
      for (const Node& node : nodes_) truth.push_back(node.cluster);
      for (std::size_t n = 0; n < nodes_.size(); ++n) part[n] = ClusterOf(*found, n);
      const std::size_t groups = 1 + *std::ranges::max_element(part);
      const double split = Federated(part, std::vector(groups, model_then), found_after, [](auto...) {});
      std::printf(
          "%zu clusters, %zu alone after %llu rounds, agreement %.2f, index %.2f  together %.1f %%  alone "
          "%.1f %%  split %.1f %%\n",
          found->clusters.size(), found->alone.size(), static_cast<unsigned long long>(found_after),
          found->agreement, AdjustedRandIndex(truth, part), 100 * together, 100 * alone, 100 * split);
    }
    std::fflush(stdout);
  }

 private:
  std::size_t Count(const char* key) const { return static_cast<std::size_t>(settings_.at(key)); }
  static std::string Name(std::size_t node) { return "node-" + std::to_string(node); }
  static std::size_t ClusterOf(const learning::FoundClusters& found, std::size_t node) {
    for (std::size_t c = 0; c < found.clusters.size(); ++c) {
      if (std::ranges::find(found.clusters[c], Name(node)) != found.clusters[c].end()) return c;
    }
    const auto alone = std::ranges::find(found.alone, Name(node));
    return found.clusters.size() + static_cast<std::size_t>(alone - found.alone.begin());
  }

  std::size_t TrueCluster(std::size_t node) const {
    switch (world_) {
      case World::kOtherNames:
      case World::kTurnedImages:
        return node % Count("clusters");
      case World::kUnequalClusters:  // one in five
        return node % 5 == 0 ? 1 : 0;
      default:
        return 0;
    }
  }

  void Deal(const Sets& sets) {
    const std::vector<std::uint32_t> drawn = DrawImages(sets.train, Count("images"), seed_);
    std::vector<std::uint8_t> labels;
    for (const std::uint32_t i : drawn) labels.push_back(sets.train.labels[i]);
    const bool few = world_ == World::kFewClasses;
    const auto parts = *images::SplitImages(drawn.size(), labels,
                                            {few ? images::ImageSplit::kDirichlet : images::ImageSplit::kIid,
                                             Count("nodes"), settings_.at("alpha"), seed_});
    for (std::size_t c = 0; c < Count("clusters"); ++c) {
      sets_.push_back(std::make_unique<Sets>());
      Sets& its = *sets_.back();
      its.test = sets.test;
      its.train.side = sets.train.side;
      its.train.channels = sets.train.channels;
      const std::size_t size = sets.train.image_size();
      for (const std::uint32_t i : drawn) {
        const auto image = std::span(sets.train.pixels).subspan(i * size, size);
        its.train.pixels.insert(its.train.pixels.end(), image.begin(), image.end());
        its.train.labels.push_back(sets.train.labels[i]);
      }
      if (world_ == World::kTurnedImages) {
        Turn(its.train, c);
        Turn(its.test, c);
      }
      if (c > 0 && (world_ == World::kOtherNames || world_ == World::kUnequalClusters)) {
        std::vector<std::uint8_t> names(10);
        std::iota(names.begin(), names.end(), std::uint8_t{0});
        nn::RandomStream::Of(seed_, c).Shuffle(names);
        for (std::uint8_t& label : its.train.labels) label = names[label];
        for (std::uint8_t& label : its.test.labels) label = names[label];
      }
    }
    for (std::size_t n = 0; n < parts.size(); ++n) {
      Node node;
      node.cluster = TrueCluster(n);
      TakePart(sets_[node.cluster]->train, parts[n], options_.batch, seed_ * 1000 + n, node);
      nodes_.push_back(std::move(node));
    }
  }

  void Train(const Node& node, std::uint64_t first, std::uint64_t steps) {
    TrainNode(node, first, steps, options_.batch, *trainer_);
  }

  double Judge(const Node& node) {
    return JudgeNode(node, sets_[node.cluster]->test, Count("test_images"), *trainer_);
  }

  double Mean(auto judge) {
    double sum = 0;
    for (Node& node : nodes_) sum += judge(node) / static_cast<double>(nodes_.size());
    return sum;
  }

  // FedAvg within each part, from these models and round on. `look(round, the model before, node)` after each
  // node's training, and with the number of nodes at the end of each round.
  double Federated(const Partition& part, std::vector<std::vector<float>> models, std::uint64_t first,
                   const auto& look) {
    for (std::uint64_t round = first; round < Count("rounds"); ++round) {
      const std::vector<std::vector<float>> before = models;
      for (std::size_t p = 0; p < models.size(); ++p) {
        std::vector<double> sum(models[p].size());
        double weights = 0;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
          if (part[n] != p) continue;
          Start(before[p]);
          Train(nodes_[n], round * Count("steps"), Count("steps"));
          look(round, before[p], n);
          const auto weight = static_cast<double>(nodes_[n].part.size());
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * trainer_->parameters()[i];
          weights += weight;
        }
        for (std::size_t i = 0; i < sum.size(); ++i) models[p][i] = static_cast<float>(sum[i] / weights);
      }
      look(round, models[0], nodes_.size());
    }
    std::size_t n = 0;
    return Mean([&](Node& node) {
      Start(models[part[n++]]);
      return Judge(node);
    });
  }

  void Start(std::span<const float> parameters) { StartFrom(parameters, *trainer_); }

  const Settings& settings_;
  const World world_;
  const std::uint64_t seed_;
  nn::SupervisedOptions options_;
  std::vector<std::unique_ptr<Sets>> sets_;  // by cluster
  std::vector<Node> nodes_;
  std::unique_ptr<SupervisedTrainer> trainer_;
  std::vector<float> fresh_;
};

void CompareAll(const Sets& sets, const Settings& settings) {
  for (int world = 0; world < 5; ++world) {
    if (settings.at("world") >= 0 && settings.at("world") != world) continue;
    for (int i = 0; i < static_cast<int>(settings.at("seeds")); ++i) {
      Comparison(sets, settings, static_cast<World>(world),
                 static_cast<std::uint64_t>(settings.at("first_seed")) + static_cast<std::uint64_t>(i))
          .Run();
    }
  }
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  return tributary::RunClassifierBench(argc, argv, tributary::kDefaults, tributary::CompareAll);
}
