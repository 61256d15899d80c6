// `tributary train beacon`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command to `parent`; running it sets the exit code of the process.
void AddTrainBeaconCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
