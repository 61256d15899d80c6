// A model that a command is given: a file, the shipped one, or what a run has made.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "core/exchange/model_description.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/positioning/positioning_network.h"
#include "core/parameters/tensor.h"

namespace tributary::cli {

// How commands declare it.
inline constexpr const char* kModelSourceType = "FILE|run:NAME[@ROUND]";
inline constexpr const char* kModelSourceHelp =
    "A file, run:NAME for the current model of a run, or run:NAME@ROUND";

// Whether it names a run's model, not a file.
bool IsOfARun(std::string_view source);

// A safetensors file, and what its aggregator says of it.
struct ModelFile {
  std::string bytes;
  exchange::ModelOrigin origin = {};
};

// Errors: those of reading a file; a UsageError for a round that is no number; the aggregator's; DataLoss for
// a transfer that does not match its checksums or its declared size.
absl::StatusOr<ModelFile> ReadModelSource(const std::string& source, const ConnectionArguments& connection);

// The same, with what is known of the model (model_description.h). Errors: besides those, of
// DecodeSafetensors, naming the source.
absl::StatusOr<parameters::TensorSet> ReadDescribedModel(const std::string& source,
                                                         const ConnectionArguments& connection);

// `given`, or, if that is empty, the shipped model: the file `shipped` in the first that has it of
// $TRIBUTARY_MODEL_DIR, models in the working directory, models in a folder above the program's (a build
// tree), /usr/share/tributary/models. NotFound lists where it looked.
absl::StatusOr<std::string> FindModelFile(const std::string& given, std::string_view shipped);

struct LoadedPositioningModel {
  std::string path;
  nn::PositioningNetwork network;
};

// Errors name the file.
absl::StatusOr<LoadedPositioningModel> LoadPositioningModel(const std::string& given);

struct LoadedModulationModel {
  std::string path;
  nn::ModulationNetwork network;
};

// Errors name the file.
absl::StatusOr<LoadedModulationModel> LoadModulationModel(const std::string& given);

}  // namespace tributary::cli
