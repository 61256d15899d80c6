// Labelled ranges as lines of text. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/beacon/beacon_trainer.h"

namespace tributary::retraining {

// "unix_ns,range,range,range,x,y": when the ranges were taken, in nanoseconds since the Unix epoch; the
// ranges of the model's anchors in its order, and the true position in the site's frame, in m. Errors:
// InvalidArgument, naming the column.
absl::StatusOr<nn::BeaconExample> ParseSample(std::string_view line);

// Lines of that, the last one with or without its line end; empty ones are skipped. Errors: as ParseSample,
// naming the line too.
absl::StatusOr<std::vector<nn::BeaconExample>> ParseSamples(std::string_view text);

}  // namespace tributary::retraining
