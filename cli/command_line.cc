#include "cli/command_line.h"

#include <fmt/format.h>

#include <vector>

#include "absl/strings/str_join.h"

namespace tributary {
namespace {

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string NamesOf(const CLI::App& app) {
  return absl::StrJoin(CommandsOf(app), ", ",
                       [](std::string* out, const CLI::App* each) { *out += each->get_name(); });
}

}  // namespace

std::string CommandLineFault(const CLI::App* app, const CLI::Error& error) {
  std::string path = app->get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    path += " " + app->get_name();
  }
  std::string what = error.what();
  if (!CommandsOf(*app).empty()) {
    const std::vector<std::string> rest = app->remaining();
    what = rest.empty() ? "a command is missing" : fmt::format("\"{}\" is no command", rest.front());
    what += "; there are " + NamesOf(*app);
  }
  return fmt::format("{}: {}\n`{} --help` says more.\n", path, what, path);
}

}  // namespace tributary
