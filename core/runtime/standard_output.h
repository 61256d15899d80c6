// Detects that a program's output was lost.
#pragma once

#include <string_view>

namespace tributary::runtime {

// Call last in main(): flushes standard output. If it has failed since the start (full disk, closed pipe),
// says so on standard error and returns kExitCantCreate instead of success; a failing exit code stays.
int FinishOutput(std::string_view program, int exit_code);

}  // namespace tributary::runtime
