// The gain of federated averaging of SimSiam: one process, no network; five nodes, Dirichlet split over the
// classes.
//
// Usage: self_supervised_federated_bench IMAGES LABELS TEST_IMAGES TEST_LABELS [ROUNDS] [LOCAL_STEPS] [RATE]
// [AUGMENTATION] [GRID] [METHOD] [SEED] [ENCODING]
// With an ENCODING the updates travel in it, with error feedback, and only the average of the nodes is
// judged. Without one it prints the linear probe of the random encoder, of the average of the nodes, of nodes
// that train alone, each after the same number of steps per learner, and of centralised training with as many
// steps as all nodes took together.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/images/idx_file.h"
#include "core/images/split.h"
#include "core/learning/client_settings.h"
#include "core/nn/encoder/encoder_evaluation.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/update_encoding.h"
#include "node/learner/augmentation.h"
#include "node/learner/self_supervised.h"

namespace tributary {
namespace {

constexpr std::size_t kNodes = 5;

struct Sets {
  images::ImageSet train, test;
};

struct Schedule {
  std::uint64_t rounds = 40;
  std::uint64_t local_steps = 50;
  double rate = nn::SelfSupervisedOptions().learning_rate;
  std::string augmentation = "strong";
  std::size_t grid = 3;
  nn::SelfSupervisedMethod method = nn::SelfSupervisedMethod::kSimClr;
  std::uint64_t seed = 1;  // of the split, the initial model, views and order
  std::optional<parameters::UpdateEncoding> encoding;
};

class Comparison {
 public:
  Comparison(const Sets& sets, const Schedule& schedule) : sets_(sets), schedule_(schedule) {
    options_ = nn::FreshOptions(schedule.method);
    options_.seed = schedule.seed;
    options_.encoder.side = sets.train.side;
    options_.encoder.grid = schedule.grid;
    options_.learning_rate = schedule.rate;
    options_.schedule_steps = schedule.rounds * schedule.local_steps;
    parts_ = *images::SplitImages(sets.train.count(), sets.train.labels,
                                  {images::ImageSplit::kDirichlet, kNodes, 0.5, schedule.seed});
    all_.resize(sets.train.count());
    std::iota(all_.begin(), all_.end(), 0U);
    const auto trainer = *nn::SelfSupervisedTrainer::Create(options_);
    initial_.assign(trainer->parameters().begin(), trainer->parameters().end());
  }

  void Run() {
    Judge("random", Measured(initial_, all_));
    Together();
    if (schedule_.encoding) return;
    double alone = 0;
    for (std::size_t node = 0; node < kNodes; ++node) {
      const std::vector<float> model = Trained(parts_[node], node, options_.schedule_steps);
      alone += Judge("node " + std::to_string(node) + " alone", model) / kNodes;
    }
    std::printf("%-14s linear probe %6.2f %%\n", "alone, mean", 100 * alone);
    std::fflush(stdout);
    Judge("one place", Trained(all_, 0, options_.schedule_steps));
    Judge("one place, 5x", Trained(all_, 0, kNodes * options_.schedule_steps));
  }

 private:
  // Draws its views from a seed of its own, as a node does.
  std::unique_ptr<learner::SelfSupervisedWorkload> Learner(const std::vector<std::uint32_t>& part,
                                                           std::size_t node,
                                                           std::uint64_t schedule_steps) const {
    learner::LocalTrainingOptions local{.trainer = options_, .augmentation = schedule_.augmentation};
    local.trainer.schedule_steps = schedule_steps;
    local.trainer.seed = 1000 * schedule_.seed + node + 1;
    return *learner::SelfSupervisedWorkload::Create(sets_.train, part, local);
  }

  static std::vector<float> Update(learner::SelfSupervisedWorkload& learner, std::uint64_t round,
                                   std::uint64_t steps, const std::vector<float>& model) {
    std::vector<float> update(model.size());
    const auto outcome = learner.Train(
        round, steps, model, [] { return false; }, update);
    if (!outcome.ok()) throw std::runtime_error(outcome.status().ToString());
    learner.EndRound();
    return update;
  }

  void Together() {
    std::vector<std::unique_ptr<learner::SelfSupervisedWorkload>> learners;
    for (std::size_t node = 0; node < kNodes; ++node) {
      learners.push_back(Learner(parts_[node], node, options_.schedule_steps));
    }
    std::vector<float> global = initial_;
    std::vector<std::vector<float>> residuals(kNodes);
    for (std::uint64_t round = 0; round < schedule_.rounds; ++round) {
      std::vector<double> sum(global.size());
      for (std::size_t node = 0; node < kNodes; ++node) {
        const double weight = static_cast<double>(parts_[node].size()) / static_cast<double>(all_.size());
        std::vector<float> update = Update(*learners[node], round, schedule_.local_steps, global);
        if (schedule_.encoding) update = Arrived(std::move(update), residuals[node]);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * update[i];
      }
      for (std::size_t i = 0; i < sum.size(); ++i) global[i] += static_cast<float>(sum[i]);
      if ((round + 1) % std::max<std::uint64_t>(schedule_.rounds / 5, 1) == 0) {
        Judge("round " + std::to_string(round + 1), global);
      }
    }
  }

  // What the aggregator gets of an update; what it does not get goes into `residual`, as on a node.
  std::vector<float> Arrived(std::vector<float> update, std::vector<float>& residual) const {
    residual.resize(update.size());
    for (std::size_t i = 0; i < update.size(); ++i) update[i] += residual[i];
    residual = std::move(update);
    std::string payload;
    if (!parameters::EncodeChunk(*schedule_.encoding, residual, payload).ok()) {
      throw std::runtime_error("the update cannot be encoded");
    }
    parameters::UpdateDecoder decoder(*schedule_.encoding, residual.size());
    const auto values = decoder.Decode(0, residual.size(), payload);
    if (!values.ok()) throw std::runtime_error(values.status().ToString());
    const auto trainer = *nn::SelfSupervisedTrainer::Create(options_);
    for (const parameters::StatisticRange& range : parameters::FindStatistics(trainer->Schema())) {
      std::ranges::fill(std::span(residual).subspan(range.first, range.count), 0.0F);
    }
    return {values->begin(), values->end()};
  }

  std::vector<float> Trained(const std::vector<std::uint32_t>& part, std::size_t node,
                             std::uint64_t steps) const {
    std::vector<float> model = Update(*Learner(part, node, steps), 0, steps, initial_);
    for (std::size_t i = 0; i < model.size(); ++i) model[i] += initial_[i];
    return Measured(model, part);
  }

  // With the running statistics of these images.
  std::vector<float> Measured(const std::vector<float>& model, const std::vector<std::uint32_t>& part) const {
    const auto trainer = *nn::SelfSupervisedTrainer::Create(options_);
    (void)trainer->SetParameters(model);
    std::vector<std::uint8_t> pixels;
    const std::size_t size = sets_.train.image_size();
    for (const std::uint32_t i : part) {
      const std::span<const std::uint8_t> image = std::span(sets_.train.pixels).subspan(i * size, size);
      pixels.insert(pixels.end(), image.begin(), image.end());
    }
    trainer->CalibrateStatistics(pixels);
    return {trainer->parameters().begin(), trainer->parameters().end()};
  }

  double Judge(const std::string& name, const std::vector<float>& model) const {
    const auto trainer = *nn::SelfSupervisedTrainer::Create(options_);
    (void)trainer->SetParameters(model);
    const std::vector<float> train = trainer->Features(sets_.train.pixels),
                             test = trainer->Features(sets_.test.pixels);
    const auto figures = nn::EvaluateFeatures({train, sets_.train.labels}, {test, sets_.test.labels},
                                              options_.encoder.feature_count());
    if (!figures.ok()) throw std::runtime_error(figures.status().ToString());
    std::printf("%-14s linear probe %6.2f %%  kNN %6.2f %%  spread %.2f\n", name.c_str(),
                100 * figures->linear_accuracy, 100 * figures->knn_accuracy, figures->spread);
    std::fflush(stdout);
    return figures->linear_accuracy;
  }

  const Sets& sets_;
  const Schedule& schedule_;
  nn::SelfSupervisedOptions options_;
  std::vector<std::vector<std::uint32_t>> parts_;
  std::vector<std::uint32_t> all_;
  std::vector<float> initial_;
};

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: self_supervised_federated_bench IMAGES LABELS TEST_IMAGES TEST_LABELS [ROUNDS] "
                 "[LOCAL_STEPS] [RATE] [AUGMENTATION] [GRID] [simclr|simsiam|byol] [SEED] "
                 "[float32|float16|int8|int12|topk]\n";
    return 64;
  }
  const auto train = tributary::images::ReadIdxImages(argv[1], argv[2]);
  const auto test = tributary::images::ReadIdxImages(argv[3], argv[4]);
  if (!train.ok() || !test.ok()) {
    std::cerr << train.status() << "\n" << test.status() << "\n";
    return 1;
  }
  tributary::Schedule schedule;
  if (argc > 5) schedule.rounds = std::strtoull(argv[5], nullptr, 10);
  if (argc > 6) schedule.local_steps = std::strtoull(argv[6], nullptr, 10);
  if (argc > 7) schedule.rate = std::strtod(argv[7], nullptr);
  if (argc > 8) schedule.augmentation = argv[8];
  if (const auto known = tributary::learner::CreateAugmenter(schedule.augmentation, {.side = train->side});
      !known.ok()) {
    std::cerr << known.status() << "\n";
    return 64;
  }
  if (argc > 9) schedule.grid = std::strtoull(argv[9], nullptr, 10);
  if (argc > 10) {
    tributary::v1::ClientSettings settings;
    settings.set_method(argv[10]);
    schedule.method = tributary::learning::MethodOf(settings);
  }
  if (argc > 11) schedule.seed = std::strtoull(argv[11], nullptr, 10);
  for (int number = 1; argc > 12 && number <= 7; ++number) {
    const auto encoding = static_cast<tributary::parameters::UpdateEncoding>(number);
    if (tributary::parameters::UpdateEncodingName(encoding) == argv[12]) schedule.encoding = encoding;
  }
  const tributary::Sets sets{*train, *test};
  tributary::Comparison(sets, schedule).Run();
  return 0;
}
