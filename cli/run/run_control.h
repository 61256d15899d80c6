// `tributary run pause`, `resume` and `stop`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the commands; running one sets the exit code of the process.
void AddRunControlCommands(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
