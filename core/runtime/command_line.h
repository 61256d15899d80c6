// What is wrong with a command line, said so that the next attempt can be right.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::runtime {

// For CLI::App::failure_message: the command at which it went wrong, what is wrong, and whose --help to ask.
// A mistyped command or option gets the nearest one; without a near one, all commands are named.
std::string CommandLineFault(const CLI::App* app, const CLI::Error& error);

// The candidate that `word` was most likely meant to be; empty if none is near. Two letters that changed
// places count as one fault; one fault is admitted for every three letters.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tributary::runtime
