// Model files as the commands find them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/nn/positioning/positioning_network.h"

namespace tributary::cli {

// `given`, or, if that is empty, the first that exists of: $TRIBUTARY_MODEL_DIR/NAME, models/NAME in the
// working directory, models/NAME in a folder above the program's (a build tree),
// /usr/share/tributary/models/NAME. NotFound lists where it looked.
absl::StatusOr<std::string> FindModelFile(const std::string& given, const std::string& name);

struct LoadedPositioningModel {
  std::string path;
  nn::PositioningNetwork network;
};

// Errors name the file.
absl::StatusOr<LoadedPositioningModel> LoadPositioningModel(const std::string& given);

}  // namespace tributary::cli
