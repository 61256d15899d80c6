// ONNX files: an encoder or a classifier as one, for whoever runs it elsewhere, and what any of them holds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/encoder_file.h"
#include "core/parameters/tensor.h"

namespace tributary::exchange {

// Bytes of an onnx.ModelProto (operator set 13) that computes the features as SelfSupervisedTrainer::Features
// does, in float32: input "images", uint8 [N × 1 × side × side]; output "features", float32
// [N × feature_count()]. Projector and predictor are left out: they serve training only. A quantised encoder
// is exported in QDQ form: graphs of that form run on the tensor unit. `metadata` (model_description.h)
// becomes the model's metadata_props, beside ONNX's own keys for images, and its doc strings. Errors: those
// of SelfSupervisedTrainer::Create; InvalidArgument for parameters of another number.
absl::StatusOr<std::string> EncodeOnnx(const nn::EncoderFile& encoder,
                                       const parameters::ModelMetadata& metadata);

// The same of a classifier: output "logits", float32 [N × classes]. Its metadata_props also have what a panel
// of the workload network reads: "tributary.outputs" and "tributary.classes", the labels as numbers. Errors:
// InvalidArgument for a classifier without a head: each node has its own.
absl::StatusOr<std::string> EncodeOnnx(const nn::ClassifierFile& classifier,
                                       const parameters::ModelMetadata& metadata);

// producer, opset, doc, metadata, inputs and outputs ({name, dtype, shape, doc}; a dimension of any size by
// its name), nodes (how many), tensors ({name, dtype, shape}). Texts are the file's own. Errors:
// InvalidArgument for bytes that are no onnx.ModelProto and for more than 100,000 inputs, outputs or tensors.
absl::StatusOr<nlohmann::ordered_json> SummariseOnnx(std::string_view file);

}  // namespace tributary::exchange
