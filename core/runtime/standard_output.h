// Whether what a program printed has arrived.
#pragma once

#include <string_view>

namespace tributary::runtime {

// Call last in main(): writes out what is buffered. Where standard output has failed since the start (a full
// disk, a closed pipe), says so on standard error and gives kExitCantCreate in place of success; an exit code
// that is a failure already stays.
int FinishOutput(std::string_view program, int exit_code);

}  // namespace tributary::runtime
