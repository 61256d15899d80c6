#include "core/nn/encoder/encoder_file.h"

#include <string>

#include "core/nn/encoder/encoder_metadata.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr std::string_view kFormat = "tributary-encoder-1";

}  // namespace

std::string EncodeEncoder(const SelfSupervisedTrainer& trainer) {
  parameters::TensorSet set = ToTensorSet(trainer.Schema(), trainer.parameters());
  const SelfSupervisedOptions& o = trainer.options();
  set.metadata = {{"format", std::string(kFormat)},
                  {"projection", std::to_string(o.projection)},
                  {"bottleneck", std::to_string(o.bottleneck)},
                  {"head_norm", o.head_norm ? "1" : "0"}};
  PutEncoderOptions(o.encoder, set);
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<EncoderFile> EncoderFromTensors(const parameters::TensorSet& set) {
  MetadataReader metadata(set);
  metadata.ExpectFormat(kFormat);
  EncoderFile result;
  result.options.encoder = metadata.Encoder();
  result.options.projection = metadata.Number("projection");
  result.options.bottleneck = metadata.Number("bottleneck");
  result.options.head_norm = metadata.Number("head_norm") != 0;
  if (result.options.bottleneck == 0) result.options.method = SelfSupervisedMethod::kSimClr;
  RETURN_IF_ERROR(metadata.status());
  RETURN_IF_ERROR(Validate(result.options));
  ASSIGN_OR_RETURN(result.parameters, FlatParameters(SelfSupervisedSchema(result.options), set));
  RETURN_IF_ERROR(CheckFinite(result.parameters));
  return result;
}

absl::StatusOr<EncoderFile> DecodeEncoder(std::string_view file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  return EncoderFromTensors(set);
}

}  // namespace tributary::nn
