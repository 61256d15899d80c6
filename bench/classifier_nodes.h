// Nodes that train a classifier in one process: what the benchmarks of federated classifiers share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/images/idx_file.h"
#include "core/images/images_stream.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/nn/kernel/random_stream.h"

namespace tributary {

struct Sets {
  images::ImageSet train, test;
};

// What the command line may change.
using Settings = std::map<std::string, double, std::less<>>;

struct ClassifierNode {
  std::vector<std::uint32_t> part;    // of the set that it trains on
  std::array<double, 10> share = {};  // of each class
  std::unique_ptr<images::ImageStream> stream;
};

// `count` images of the set, drawn at random.
inline std::vector<std::uint32_t> DrawImages(const images::ImageSet& set, std::size_t count,
                                             std::uint64_t seed) {
  std::vector<std::uint32_t> drawn(set.count());
  std::iota(drawn.begin(), drawn.end(), 0U);
  nn::RandomStream(seed).Shuffle(drawn);
  drawn.resize(std::min(drawn.size(), count));
  return drawn;
}

inline void TakePart(const images::ImageSet& set, std::vector<std::uint32_t> part, std::size_t batch,
                     std::uint64_t seed, ClassifierNode& node) {
  node.part = std::move(part);
  for (const std::uint32_t i : node.part) {
    node.share[set.labels[i]] += 1.0 / static_cast<double>(node.part.size());
  }
  node.stream = std::make_unique<images::ImageStream>(set, node.part, batch, seed);
}

inline void StartFrom(std::span<const float> parameters, nn::SupervisedTrainer& trainer) {
  if (!trainer.SetParameters(parameters).ok()) throw std::runtime_error("training diverged");
}

inline void TrainNode(const ClassifierNode& node, std::uint64_t first, std::uint64_t steps, std::size_t batch,
                      nn::SupervisedTrainer& trainer) {
  trainer.SeekStep(first);
  std::vector<std::uint8_t> labels(batch);
  for (std::uint64_t step = first; step < first + steps; ++step) {
    const std::span<const std::uint8_t> images = node.stream->Batch(step);
    for (std::size_t n = 0; n < labels.size(); ++n) {
      labels[n] = node.stream->set().labels[node.stream->indices()[n]];
    }
    (void)trainer.Step(images, labels);
  }
}

// Accuracy on the first `most` test images, in the node's proportions of classes.
inline double JudgeNode(const ClassifierNode& node, const images::ImageSet& test, std::size_t most,
                        nn::SupervisedTrainer& trainer) {
  const std::size_t count = std::min(test.count(), most);
  const std::vector<std::uint8_t> found =
      trainer.Classify(std::span(test.pixels).first(count * test.image_size()));
  std::array<double, 10> right = {}, all = {};
  for (std::size_t i = 0; i < count; ++i) {
    all[test.labels[i]] += 1;
    right[test.labels[i]] += found[i] == test.labels[i];
  }
  double accuracy = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k] > 0) accuracy += node.share[k] * right[k] / all[k];
  }
  return accuracy;
}

// A program with the arguments IMAGES LABELS TEST_IMAGES TEST_LABELS [KEY=NUMBER...].
inline int RunClassifierBench(int argc, char** argv, const Settings& defaults,
                              const std::function<void(const Sets&, const Settings&)>& run) {
  if (argc < 5) {
    std::cerr << "usage: " << argv[0] << " IMAGES LABELS TEST_IMAGES TEST_LABELS [KEY=NUMBER...]\n";
    return 64;
  }
  Settings settings = defaults;
  for (int i = 5; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || !settings.contains(text.substr(0, equals))) {
      std::cerr << text << ": expected KEY=NUMBER with one of";
      for (const auto& [key, value] : defaults) std::cerr << " " << key << "=" << value;
      std::cerr << "\n";
      return 64;
    }
    settings[text.substr(0, equals)] = std::strtod(text.c_str() + equals + 1, nullptr);
  }
  const auto train = images::ReadIdxImages(argv[1], argv[2]);
  const auto test = images::ReadIdxImages(argv[3], argv[4]);
  if (!train.ok() || !test.ok()) {
    std::cerr << train.status() << "\n" << test.status() << "\n";
    return 1;
  }
  run({*train, *test}, settings);
  return 0;
}

}  // namespace tributary
