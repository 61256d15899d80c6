// `tributary doctor`: checks a machine before a node's first start.
#pragma once

#include <CLI/CLI.hpp>

namespace tributary::cli {

// Adds the command; running it sets the exit code of the process: not 0 if a check found a fault.
void AddDoctorCommand(CLI::App& parent, int& exit_code);

}  // namespace tributary::cli
