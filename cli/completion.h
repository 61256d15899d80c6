// What a shell offers when TAB is pressed, from the declarations of the commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tributary::cli {

enum class Shell { kBash, kZsh, kFish };

// A script that completes commands, options, the words that an option knows, and paths where the type of a
// value is FILE or FOLDER (Command). An argument of the type COMMAND is completed like the program itself.
std::string CompletionScript(const CLI::App& program, Shell shell);

}  // namespace tributary::cli
