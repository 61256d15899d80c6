// What federated averaging of SimSiam is worth: one process, no network; five nodes, Dirichlet split over the
// classes.
//
// Usage: self_supervised_federated_bench IMAGES LABELS TEST_IMAGES TEST_LABELS [ROUNDS] [LOCAL_STEPS] [RATE]
// [AUGMENTATION] Prints the linear probe of the random encoder, of the average and of nodes that train alone,
// each after the same number of steps per learner, and of centralised training with as many steps as all
// nodes took together.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <vector>

#include "core/images/idx_file.h"
#include "core/images/split.h"
#include "core/nn/encoder_evaluation.h"
#include "core/nn/self_supervised_trainer.h"
#include "node/source/images_stream.h"
#include "node/workload/create_augmenter.h"

namespace tributary {
namespace {

constexpr std::size_t kNodes = 5;

struct Sets {
  ImageSet train, test;
};

double Judge(const std::string& name, SelfSupervisedTrainer& trainer, const Sets& sets) {
  const std::vector<float> train = trainer.Features(sets.train.pixels),
                           test = trainer.Features(sets.test.pixels);
  const auto figures = EvaluateFeatures({train, sets.train.labels}, {test, sets.test.labels},
                                        trainer.options().encoder.feature_count());
  if (!figures.ok()) {
    std::cerr << figures.status() << "\n";
    return 0;
  }
  std::printf("%-14s linear probe %6.2f %%  kNN %6.2f %%  spread %.2f\n", name.c_str(),
              100 * figures->linear_accuracy, 100 * figures->knn_accuracy, figures->spread);
  std::fflush(stdout);
  return figures->linear_accuracy;
}

std::vector<float> Average(const std::vector<std::vector<float>>& models,
                           const std::vector<double>& weights) {
  std::vector<float> average(models[0].size());
  for (std::size_t i = 0; i < average.size(); ++i) {
    double sum = 0;
    for (std::size_t n = 0; n < models.size(); ++n) sum += weights[n] * models[n][i];
    average[i] = static_cast<float>(sum);
  }
  return average;
}

struct Schedule {
  std::uint64_t rounds = 40;
  std::uint64_t local_steps = 50;
  double rate = SelfSupervisedOptions().learning_rate;
  AugmentationSet augmentation = AugmentationSet::kContinuous;
};

void Run(const Sets& sets, const Schedule& schedule) {
  SelfSupervisedOptions options;
  options.encoder.side = sets.train.side;
  options.learning_rate = schedule.rate;
  options.schedule_steps = schedule.rounds * schedule.local_steps;
  const auto create = [&](const SelfSupervisedOptions& o) {
    return *SelfSupervisedTrainer::Create(o, *CreateAugmenter(schedule.augmentation, sets.train.side));
  };
  const auto trainer = create(options);
  const std::vector<float> initial(trainer->parameters().begin(), trainer->parameters().end());
  trainer->CalibrateStatistics(sets.train.pixels);
  Judge("random", *trainer, sets);

  const auto parts =
      *SplitImages(sets.train.count(), sets.train.labels, {ImageSplit::kDirichlet, kNodes, 0.5, 1});
  std::vector<ImageStream> streams;
  std::vector<double> weights;
  for (const auto& part : parts) {
    streams.emplace_back(sets.train, part, options.batch, streams.size());
    weights.push_back(static_cast<double>(part.size()) / static_cast<double>(sets.train.count()));
  }
  const auto train = [&](std::size_t node, std::uint64_t first, std::uint64_t steps) {
    trainer->SeekStep(first);
    for (std::uint64_t s = 0; s < steps; ++s) (void)trainer->Step(streams[node].Batch(first + s));
    return std::vector<float>(trainer->parameters().begin(), trainer->parameters().end());
  };
  std::vector<float> global = initial;
  for (std::uint64_t round = 0; round < schedule.rounds; ++round) {
    std::vector<std::vector<float>> models;
    for (std::size_t node = 0; node < kNodes; ++node) {
      (void)trainer->SetParameters(global);
      models.push_back(train(node, round * schedule.local_steps, schedule.local_steps));
    }
    global = Average(models, weights);
    if ((round + 1) % std::max<std::uint64_t>(schedule.rounds / 5, 1) != 0) continue;
    (void)trainer->SetParameters(global);
    Judge("round " + std::to_string(round + 1), *trainer, sets);
  }
  double alone = 0;
  for (std::size_t node = 0; node < kNodes; ++node) {
    (void)trainer->SetParameters(initial);
    (void)train(node, 0, options.schedule_steps);
    alone += Judge("node " + std::to_string(node) + " alone", *trainer, sets) / kNodes;
  }
  std::printf("%-14s linear probe %6.2f %%\n", "alone, mean", 100 * alone);
  std::fflush(stdout);

  SelfSupervisedOptions central = options;
  central.schedule_steps *= kNodes;
  const auto union_trainer = create(central);
  std::vector<std::uint32_t> all(sets.train.count());
  std::iota(all.begin(), all.end(), 0U);
  ImageStream union_stream(sets.train, all, options.batch, 1);
  for (std::uint64_t s = 0; s < central.schedule_steps; ++s) (void)union_trainer->Step(union_stream.Batch(s));
  Judge("centralised", *union_trainer, sets);
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: self_supervised_federated_bench IMAGES LABELS TEST_IMAGES TEST_LABELS [ROUNDS] "
                 "[LOCAL_STEPS] [RATE] [AUGMENTATION]\n";
    return 64;
  }
  const auto train = tributary::ReadIdxImages(argv[1], argv[2]);
  const auto test = tributary::ReadIdxImages(argv[3], argv[4]);
  if (!train.ok() || !test.ok()) {
    std::cerr << train.status() << "\n" << test.status() << "\n";
    return 1;
  }
  tributary::Schedule schedule;
  if (argc > 5) schedule.rounds = std::strtoull(argv[5], nullptr, 10);
  if (argc > 6) schedule.local_steps = std::strtoull(argv[6], nullptr, 10);
  if (argc > 7) schedule.rate = std::strtod(argv[7], nullptr);
  if (argc > 8) {
    const auto augmentation = tributary::ParseAugmentationSet(argv[8]);
    if (!augmentation.ok()) {
      std::cerr << augmentation.status() << "\n";
      return 64;
    }
    schedule.augmentation = *augmentation;
  }
  tributary::Run({*train, *test}, schedule);
  return 0;
}
