// `tributary model diff`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command to `model`; running it sets the exit code of the process.
void AddModelDiffCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
