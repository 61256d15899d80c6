// `tributary status`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command; running it sets the exit code of the process.
void AddStatusCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
