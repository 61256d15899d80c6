// Explains a wrong command line, so that the next attempt succeeds.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::runtime {

// For CLI::App::failure_message: names the command with the fault, the fault, and the --help to read.
// Suggests the nearest command or option for a mistyped one; lists all commands if none is near.
std::string CommandLineFault(const CLI::App* app, const CLI::Error& error);

// The candidate nearest to `word`; empty if none is near. Swapped neighbours count as one fault; one fault is
// allowed for every three letters.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tributary::runtime
