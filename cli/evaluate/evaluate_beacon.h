// `tributary evaluate beacon`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command to `parent`; running it sets the exit code of the process.
void AddEvaluateBeaconCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
