// A model that a command is given: a file, or what a run has made.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "cli/model/model_description.h"

namespace tributary::cli {

// How commands declare it.
inline constexpr const char* kModelSourceType = "FILE|run:NAME[@ROUND]";
inline constexpr const char* kModelSourceHelp =
    "A file, run:NAME for the current model of a run, or run:NAME@ROUND";

// Whether it names a run's model, not a file.
bool IsOfARun(std::string_view source);

// The bytes of the safetensors file. Errors: those of reading a file; InvalidArgument for a round that is no
// number; the aggregator's; DataLoss for a transfer that does not match its checksums.
absl::StatusOr<std::string> ReadModelSource(const std::string& source, const ConnectionArguments& connection);

// The same, with what is known of the model (model_description.h). Errors: besides those, of
// DecodeSafetensors, naming the source.
absl::StatusOr<parameters::TensorSet> ReadDescribedModel(const std::string& source,
                                                         const ConnectionArguments& connection);

}  // namespace tributary::cli
