// An ONNX file as a graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/graph/node.h"

namespace tributary::graph {

struct ReaderOptions {
  // What stands for dimensions of any size, by name ("N" for "batch"); those that are not named here are 1.
  std::map<std::string, std::int64_t, std::less<>> dimensions = {};
};

inline constexpr std::int64_t kLeastOperatorSet = 13, kMostOperatorSet = 17;
// Metadata whose keys begin so are kept.
inline constexpr std::string_view kOwnMetadata = "tributary.";
inline constexpr int kMaxNodes = 10'000;
inline constexpr int kMaxGraphValues = 100'000;

// The graph of an onnx.ModelProto, its nodes in an order in which they can run. Operations are looked up
// later. Errors: InvalidArgument, naming node or tensor, for bytes that are none, another operator set,
// cycles and values without a source, sub-graphs and functions, tensors outside of the file or of types that
// are not taken, sizes that do not fit the bytes, and more nodes or values than the limits above.
absl::StatusOr<Graph> ReadOnnx(std::string_view file, const ReaderOptions& options = {});

}  // namespace tributary::graph
