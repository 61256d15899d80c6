// Turns a task into the options of this node's training.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/wire/federation_task.h"
#include "node/learner/self_supervised.h"

namespace tributary::learner {

// `model`: the network in the task's model file. `buffer`: LocalTrainingOptions. Errors: InvalidArgument for
// an unknown augmentation.
absl::StatusOr<LocalTrainingOptions> LocalTrainingOf(const wire::TrainTask& task,
                                                     const nn::SelfSupervisedOptions& model,
                                                     const std::string& node, std::size_t buffer);

}  // namespace tributary::learner
