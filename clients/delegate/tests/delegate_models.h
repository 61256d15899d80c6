// Models for the tests of the delegate.
#pragma once

#include <cmath>
#include <string>

#include "core/graph/quantised/qdq_fixture.h"

namespace tributary::delegate::testing {

// y = x · [[1, 2, 3], [4, 5, 6]] + [0.5, 0, −0.5], x of float32 [N, 2].
inline std::string AffineModel() {
  return graph::testing::ModelText()
      .Input("x", {-1, 2})
      .Floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})
      .Floats("b", {3}, {0.5f, 0, -0.5f})
      .Node("MatMul", {"x", "w"}, "product")
      .Node("Add", {"product", "b"}, "y")
      .Output("y")
      .Bytes();
}

// A quantised convolution of uint8 [1, 3, 8, 8] to 8 channels, and behind it a softmax, which no accelerator
// takes.
inline std::string LayersModel() {
  using graph::ElementType;
  graph::testing::QdqModel qdq(7);
  const graph::Quantisation from{ElementType::kUint8, 0.02f, 17}, to{ElementType::kUint8, 0.4f, 40};
  const std::string x = qdq.Input("image", {1, 3, 8, 8}, from), w = qdq.Weights({8, 3, 3, 3}, 0.01f, 0),
                    b = qdq.Bias(8, 0.02f, 5'000);
  const std::string sums = qdq.Node("Conv", {x, w, b});
  qdq.model().With("pads", {1, 1, 1, 1});
  const std::string bytes = qdq.Quantised(qdq.Node("Relu", {sums}), to);
  qdq.model().Output(bytes);
  qdq.model().Output(qdq.Node("Softmax", {qdq.Dequantised(bytes, to)}, {{"axis", 1}}));
  return qdq.model().Bytes();
}

// An operation that is not known.
inline std::string UnknownModel() {
  return graph::testing::ModelText().Input("x", {2}).Node("Fourier", {"x"}, "y").Output("y").Bytes();
}

}  // namespace tributary::delegate::testing
