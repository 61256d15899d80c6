#include "node/learner/local_training.h"

#include <cstdint>

#include "core/nn/kernel/random_stream.h"

namespace tributary::learner {
namespace {

// Nodes of one run see different views; a node that restarts sees the same (FNV-1a of its name).
std::uint64_t SeedOf(std::uint64_t run_seed, const std::string& node) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const unsigned char c : node) hash = (hash ^ c) * 0x100000001b3ULL;
  return nn::RandomStream::Of(run_seed, hash).Bits();
}

}  // namespace

absl::StatusOr<LocalTrainingOptions> LocalTrainingOf(const wire::TrainTask& task,
                                                     const nn::SelfSupervisedOptions& model,
                                                     const std::string& node, std::size_t buffer) {
  const v1::ClientSettings& s = task.train.settings();
  LocalTrainingOptions options;
  options.trainer = model;
  options.trainer.method =
      s.method() == "byol" ? nn::SelfSupervisedMethod::kByol : nn::SelfSupervisedMethod::kSimSiam;
  options.trainer.batch = s.batch();
  options.trainer.learning_rate = s.learning_rate();
  options.trainer.momentum = s.momentum();
  options.trainer.weight_decay = s.weight_decay();
  options.trainer.proximal = s.proximal_mu();
  options.trainer.target_decay = s.target_decay();
  options.trainer.schedule_steps = s.schedule_steps();
  options.trainer.seed = SeedOf(s.seed(), node);
  options.ema_lambda = s.ema_lambda();
  options.buffer = buffer;
  const auto augmentation = ParseAugmentationSet(s.augmentation());
  if (!augmentation.ok()) return augmentation.status();
  options.augmentation = *augmentation;
  return options;
}

}  // namespace tributary::learner
