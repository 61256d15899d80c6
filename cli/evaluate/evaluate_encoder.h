// `tributary evaluate encoder`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command to `evaluate`; running it sets the exit code of the process.
void AddEvaluateEncoderCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
