// `tributary load`: what an aggregator sustains, and how late its results are.
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command; running it sets the exit code of the process: 0 only if nothing was lost.
void AddLoadCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
