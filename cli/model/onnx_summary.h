// An ONNX model as `tributary model inspect` shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace tributary::cli {

// producer, opset, doc, metadata, inputs and outputs ({name, dtype, shape, doc}; a dimension of any size by
// its name), nodes (how many), tensors ({name, dtype, shape}). Texts are the file's own. Errors:
// InvalidArgument for bytes that are no onnx.ModelProto.
absl::StatusOr<nlohmann::ordered_json> SummariseOnnx(std::string_view file);

}  // namespace tributary::cli
