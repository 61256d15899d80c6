#include "core/learning/fresh_model.h"

#include <fmt/format.h>

#include "core/nn/encoder/encoder_file.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/status/macros.h"

namespace tributary::learning {

absl::StatusOr<std::string> FreshModel(const RunConfig& config) {
  if (config.client.workload() != kSelfSupervised) {
    return absl::InvalidArgumentError(
        fmt::format("model: the workload {} needs a model to start from", config.client.workload()));
  }
  nn::SelfSupervisedOptions options = nn::FreshOptions(MethodOf(config.client));
  options.encoder = config.encoder;
  options.seed = config.client.seed();
  ASSIGN_OR_RETURN(const auto trainer, nn::SelfSupervisedTrainer::Create(options));
  return nn::EncodeEncoder(*trainer);
}

}  // namespace tributary::learning
