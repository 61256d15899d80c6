// `tributary train self_supervised`
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command to `train`; running it sets the exit code of the process.
void AddTrainSelfSupervisedCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
