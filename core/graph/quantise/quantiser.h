// Post-training quantisation: a float graph becomes one in ONNX's QDQ form, by what its values are on
// examples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/array.h"
#include "core/graph/onnx_reader.h"
#include "core/graph/quantise/calibration.h"

namespace tributary::graph {

struct QuantiserOptions {
  ReaderOptions reader = {};
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // of one session; three are used one after another
  ElementType activations = ElementType::kUint8;        // or kInt8
  RangeRule rule = RangeRule::kMinMax;
  double percentile = 99.99;
  double split_share = 0;  // of the channels between two convolutions (outlier_channels.h)
  // Called with what is done, of how much, in runs of the graph. May be empty.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

// A value that integers stand for, and how far the quantised graph's is from the float graph's.
struct QuantisedValue {
  std::string name;
  std::string node, operation;  // that gives it; an input of the graph: empty
  Range range = {};
  Quantisation quantisation = {};
  double relative_error = 0;  // |quantised − float| / |float|, Euclidean, over all examples
};

struct QuantiserReport {
  std::string file;                       // ONNX
  std::vector<QuantisedValue> values;     // in the graph's order
  std::map<std::string, double> outputs;  // relative error, by name
  std::size_t examples = 0;
  int folded_batch_norms = 0, split_channels = 0;
  std::vector<std::string> left_in_floats;  // "node \"NAME\" (Softmax)"
};

// `examples`: for each input of the graph an array of the input's type whose first dimension is a multiple of
// the input's, and whose other dimensions are the input's; as many runs of each. Convolutions, products with
// constant matrices, and pools, sums and moves behind them are quantised, the activations per tensor, the
// weights to −127 … 127 per output channel, biases to int32. Errors: those of Session::Load; InvalidArgument
// for examples that do not fit, a graph without anything to quantise, and for weights and values that are not
// finite, naming them.
absl::StatusOr<QuantiserReport> Quantise(std::string_view file, const std::map<std::string, Array>& examples,
                                         const QuantiserOptions& options);

}  // namespace tributary::graph
