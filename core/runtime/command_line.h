// Explains a wrong command line, so that the next attempt succeeds.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::runtime {

// Begins what is wrong with an option whose value is missing.
inline constexpr std::string_view kNeedsAValue = "needs a value";

// Parses the command line of a program. Adds --version, which prints `version`. Gives the exit code where the
// program must end: 0 after --help and --version, 64 after a fault, 73 if standard output cannot be written.
std::optional<int> ParseCommandLine(CLI::App& app, const std::string& version, int argc,
                                    const char* const* argv);

// For CLI::App::failure_message: the command at which it went wrong, what is wrong, and whose --help to ask.
// A mistyped command or option gets the nearest one; without a near one, all commands are named.
std::string CommandLineFault(const CLI::App* app, const CLI::Error& error);

// The command that `words` name, as {"run", "start"}; `app` itself without words. Errors: InvalidArgument for
// a word that is no command, with the nearest one.
absl::StatusOr<const CLI::App*> FindCommand(const CLI::App& app, std::span<const std::string> words);

// "tributary run start".
std::string CommandPath(const CLI::App& app);

// What --help prints, whatever was parsed.
std::string HelpText(const CLI::App& app);

// In the order of their declaration.
std::vector<const CLI::App*> CommandsOf(const CLI::App& app);

}  // namespace tributary::runtime
