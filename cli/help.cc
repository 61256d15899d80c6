#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/failure.h"
#include "core/runtime/command_line.h"

namespace tributary::cli {
namespace {

struct HelpArguments {
  const CLI::App* program = nullptr;
  std::vector<std::string> words;
};

absl::Status PrintHelp(const HelpArguments& arguments) {
  const auto command = runtime::FindCommand(*arguments.program, arguments.words);
  if (!command.ok()) return UsageError(std::string(command.status().message()));
  std::fputs(runtime::HelpText(**command).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

void AddHelpCommand(Commands& program) {
  auto [command, arguments] =
      program.Add<HelpArguments>("help", "Show what a command does, as its --help", PrintHelp);
  arguments.program = &program.app();
  command.Texts("command", arguments.words, "COMMAND", "Words of the command; none: all of tributary");
  command.Examples("Example:\n  tributary help run start");
}

}  // namespace tributary::cli
