#include "cli/model/labelled_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/numbers.h"
#include "core/exchange/model_description.h"
#include "core/images/idx_file.h"
#include "core/nn/encoder/class_priors.h"
#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr const char* kPriors = "priors";  // metadata: of which labels the head's bias has them

absl::Status DrawHead(std::size_t classes, nn::ClassifierFile& classifier) {
  if (!classifier.head_seed) {
    return absl::InvalidArgumentError("has no head, and no \"head_seed\" that says how to draw one");
  }
  classifier.classes = std::max<std::size_t>(classes, 2);
  const std::vector<float> drawn =
      nn::FreshClassifier(classifier.encoder, classifier.classes, *classifier.head_seed);
  const auto body = static_cast<std::ptrdiff_t>(classifier.parameters.size());
  classifier.parameters.insert(classifier.parameters.end(), drawn.begin() + body, drawn.end());
  return absl::OkStatus();
}

exchange::ModelOrigin OriginOf(const parameters::ModelMetadata& metadata) {
  exchange::ModelOrigin origin;
  std::uint32_t round = 0;
  const auto run = metadata.find("run"), of = metadata.find("round");
  if (run != metadata.end()) origin.run = run->second;
  if (of != metadata.end() && absl::SimpleAtoi(of->second, &round)) origin.round = round;
  return origin;
}

}  // namespace

absl::StatusOr<parameters::TensorSet> FittedToLabels(const parameters::TensorSet& model,
                                                     const std::string& name, const std::string& labels) {
  if (model.metadata.contains(kPriors)) {
    return absl::InvalidArgumentError(fmt::format(
        "{} expects classes as often as other labels have them; take the model as the run has it", name));
  }
  ASSIGN_OR_RETURN(nn::ClassifierFile classifier, WithContext(name, nn::ClassifierFromTensors(model)));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(labels));
  ASSIGN_OR_RETURN(const std::vector<std::uint8_t> known, WithContext(labels, images::DecodeIdxLabels(file)));
  const std::size_t classes = std::size_t{std::ranges::max(known)} + 1;
  if (classifier.classes == 0) RETURN_IF_ERROR(WithContext(name, DrawHead(classes, classifier)));
  if (classes > classifier.classes) {
    return absl::InvalidArgumentError(
        fmt::format("{}: label {}, and {} tells {} classes", labels, classes - 1, name, classifier.classes));
  }
  const nn::ParameterLayout layout(nn::ClassifierSchema(classifier.encoder, classifier.classes));
  const std::span<float> bias = layout.Range("head.bias").Of(std::span(classifier.parameters));
  std::ranges::transform(bias, nn::LogPriors(known, classifier.classes), bias.begin(), std::plus());
  ASSIGN_OR_RETURN(parameters::TensorSet fitted,
                   parameters::DecodeSafetensors(nn::EncodeClassifier(classifier)));
  exchange::Describe(fitted, OriginOf(model.metadata));
  fitted.metadata[kPriors] = fmt::format("{} labels", known.size());
  return fitted;
}

}  // namespace tributary::cli
