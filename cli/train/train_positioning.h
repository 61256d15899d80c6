// `tributary train positioning`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command to `train`; running it sets the exit code of the process.
void AddTrainPositioningCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
