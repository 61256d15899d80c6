// What a shell offers when TAB is pressed. The shell's script asks `tributary __complete WORDS`, which
// answers from the declarations of the commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tributary::cli {

// `words` stand behind the program's name, up to the one under the cursor, which may be empty. First line of
// the answer: "-f" where the path of a file may stand, "-d" for a folder, else nothing. Each other line: a
// word that may stand there; commands and options with a tab and their description. They are the commands,
// the options, and by the type of a value (Command) the words that it knows. What follows an argument of the
// type COMMAND is completed like the program itself.
std::string Completions(const CLI::App& program, std::vector<std::string> words);

}  // namespace tributary::cli
