// What a model says of itself wherever it goes: the metadata of safetensors and ONNX files alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/parameters/tensor.h"

namespace tributary::exchange {

// Which run made it. Both empty: that is not known.
struct ModelOrigin {
  std::string run;
  std::optional<std::uint32_t> round;  // after which it was the run's model; 0: the initial one
};

// Adds to `set.metadata`: producer, name, version, parameters_sha256; run and round where they are known; of
// an encoder or a classifier also what goes in and comes out (input.*, preprocessing, output.*), as
// docs/models.md lists them.
//
// Without an origin, a run and a round that the file names stand if it names the parameters that it has: it
// was exported. Otherwise they tell of another model, and go. What came from a peer is cleaned: control
// characters are escaped.
void Describe(parameters::TensorSet& set, const ModelOrigin& origin);

// Takes off what Describe adds: the model is to become another one.
void RemoveDescription(parameters::TensorSet& set);

}  // namespace tributary::exchange
