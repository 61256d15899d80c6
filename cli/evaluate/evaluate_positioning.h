// `tributary evaluate positioning`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command to `evaluate`; running it sets the exit code of the process.
void AddEvaluatePositioningCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
