#include "core/learning/fresh_model.h"

#include <fmt/format.h>

#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

std::string FreshClassifierModel(const RunConfig& config) {
  nn::ClassifierFile model{.encoder = config.encoder, .classes = config.classes, .parameters = {}};
  if (HasPersonalHeads(config.client)) {
    model.classes = 0;
    model.head_seed = config.client.seed();
  }
  model.parameters = nn::FreshClassifier(model.encoder, model.classes, config.client.seed());
  return nn::EncodeClassifier(model);
}

}  // namespace

bool IsDrawn(const v1::ClientSettings& client) {
  return client.workload() == kClassifier || client.workload() == kSelfSupervised;
}

absl::StatusOr<std::string> FreshModel(const RunConfig& config) {
  if (!IsDrawn(config.client)) {
    return absl::InvalidArgumentError(
        fmt::format("the workload {} starts from a network that exists: name its safetensors file "
                    "in \"model\", or by `tributary run start --model FILE`",
                    config.client.workload()));
  }
  if (config.client.workload() == kClassifier) return FreshClassifierModel(config);
  nn::SelfSupervisedOptions options = nn::FreshOptions(MethodOf(config.client));
  options.encoder = config.encoder;
  options.seed = config.client.seed();
  ASSIGN_OR_RETURN(const auto trainer, nn::SelfSupervisedTrainer::Create(options));
  return nn::EncodeEncoder(*trainer);
}

}  // namespace tributary::learning
