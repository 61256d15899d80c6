// What is wrong with a command line, said so that the next attempt can be right.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tributary {

// For CLI::App::failure_message: the command at which it went wrong, what is wrong, and whose --help to ask.
// Where a command is expected and something else stands, it names those there are.
std::string CommandLineFault(const CLI::App* app, const CLI::Error& error);

}  // namespace tributary
