// What a task asks for, as options of this node's training.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/wire/federation_task.h"
#include "node/learner/self_supervised.h"

namespace tributary::learner {

// `model`: what the task's model file says of its network. `buffer`: LocalTrainingOptions. Errors:
// InvalidArgument for an augmentation that is not known here.
absl::StatusOr<LocalTrainingOptions> LocalTrainingOf(const wire::TrainTask& task,
                                                     const nn::SelfSupervisedOptions& model,
                                                     const std::string& node, std::size_t buffer);

}  // namespace tributary::learner
