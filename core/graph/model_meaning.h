// What the outputs of an ONNX file mean, written into the file.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/graph/graph_model.h"

namespace tributary::graph {

// The file with a complete meaning (that of a decoded model) in its metadata, where DecodeGraphModel finds
// it. If the graph has several outputs, the one that the meaning names is left, and what only the others need
// is removed. All else stays. Errors: those of ReadOnnx; InvalidArgument for a class with a comma, which the
// metadata cannot hold.
absl::StatusOr<std::string> WithMeaning(std::string_view file, const OutputMeaning& meaning);

}  // namespace tributary::graph
