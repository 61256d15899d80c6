// An encoder as an ONNX model, for whoever runs it elsewhere.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/nn/encoder_file.h"

namespace tributary {

// Bytes of an onnx.ModelProto (operator set 13) that computes the features as SelfSupervisedTrainer::Features
// does, in float32: input "images", uint8 [N × 1 × side × side]; output "features", float32
// [N × feature_count()]. Projector and predictor are left out: they serve training only. A quantised encoder
// is exported with its weights rounded and its activations floored. Errors: those of
// SelfSupervisedTrainer::Create; InvalidArgument for parameters of another number.
absl::StatusOr<std::string> EncodeOnnx(const EncoderFile& encoder);

}  // namespace tributary
