#include "core/nn/encoder/classifier_file.h"

#include "core/nn/encoder/encoder_metadata.h"
#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/nn/kernel/parameter_layout.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr std::string_view kClassifierFormat = "tributary-classifier-1";

}  // namespace

std::string EncodeClassifier(const ClassifierFile& classifier) {
  parameters::TensorSet set =
      ToTensorSet(ClassifierSchema(classifier.encoder, classifier.classes), classifier.parameters);
  set.metadata = {{"format", std::string(kClassifierFormat)},
                  {"classes", std::to_string(classifier.classes)}};
  if (classifier.head_seed) set.metadata["head_seed"] = std::to_string(*classifier.head_seed);
  PutEncoderOptions(classifier.encoder, set);
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<ClassifierFile> ClassifierFromTensors(const parameters::TensorSet& set) {
  MetadataReader metadata(set);
  metadata.ExpectFormat(kClassifierFormat);
  ClassifierFile result;
  result.encoder = metadata.Encoder();
  result.classes = metadata.Number("classes");
  if (set.metadata.contains("head_seed")) result.head_seed = metadata.Number("head_seed");
  RETURN_IF_ERROR(metadata.status());
  SupervisedOptions options{.encoder = result.encoder};
  if (result.classes > 0) options.classes = result.classes;
  RETURN_IF_ERROR(Validate(options));
  ASSIGN_OR_RETURN(result.parameters, FlatParameters(ClassifierSchema(result.encoder, result.classes), set));
  RETURN_IF_ERROR(CheckFinite(result.parameters));
  return result;
}

absl::StatusOr<ClassifierFile> DecodeClassifier(std::string_view file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  return ClassifierFromTensors(set);
}

}  // namespace tributary::nn
