#include "core/runtime/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/runtime/nearest.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"

namespace tributary::runtime {
namespace {

std::vector<std::string> NamesOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : CommandsOf(app)) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "run show" where `name` is a command of a group only.
std::string InAGroup(const CLI::App& app, std::string_view name) {
  for (const CLI::App* group : CommandsOf(app)) {
    for (const CLI::App* each : CommandsOf(*group)) {
      if (each->get_name() == name) return CommandPath(*each).substr(app.get_name().size() + 1);
    }
  }
  return "";
}

std::string UnknownCommand(const CLI::App& app, const std::string& word) {
  std::string meant = Nearest(word, NamesOf(app));
  if (meant.empty()) meant = InAGroup(app, word);
  const std::string choice =
      meant.empty() ? "; there are " + absl::StrJoin(NamesOf(app), ", ") : DidYouMean(meant);
  return fmt::format("\"{}\" is not a command{}", word, choice);
}

std::string UnexpectedArgument(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("-")) return fmt::format("unexpected argument \"{}\"", word);
  const std::string name = word.substr(0, word.find('='));
  return fmt::format("\"{}\" is not an option{}", name, DidYouMean(Nearest(name, OptionsOf(app))));
}

// CLI11 names the option first, then says "1 required FILE missing" or "At Most 1 required but received 2".
std::string WrongCount(const CLI::App& app, const std::string& what) {
  const std::string name = what.substr(0, what.find_first_of(": "));
  const CLI::Option* option = app.get_option_no_throw(name);
  const bool also_positional = option != nullptr && option->get_positional() && !option->get_lnames().empty();
  if (what.ends_with("flag override")) return "--" + name + " takes no value";
  if (what.ends_with("missing")) return name + " needs a value";
  return name +
         (also_positional ? " is given twice: as an argument and as an option" : " may be given only once");
}

// What the option means that CLI11 names first, in "config is required".
std::string Meaning(const CLI::App& app, const std::string& what) {
  const std::string name = what.substr(0, what.find(' '));
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() != name || option->get_description().empty()) continue;
    return fmt::format(": {}, {}", option->get_type_name(), option->get_description());
  }
  return "";
}

}  // namespace

std::optional<int> ParseCommandLine(CLI::App& app, const std::string& version, int argc,
                                    const char* const* argv) {
  app.set_version_flag("--version", version);
  app.failure_message(CommandLineFault);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? FinishOutput(app.get_name(), kExitOk) : kExitUsage;
  }
  return std::nullopt;
}

absl::StatusOr<const CLI::App*> FindCommand(const CLI::App& app, std::span<const std::string> words) {
  const CLI::App* found = &app;
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> commands = CommandsOf(*found);
    const auto next =
        std::ranges::find(commands, word, [](const CLI::App* each) { return each->get_name(); });
    if (next == commands.end()) {
      return absl::InvalidArgumentError(commands.empty()
                                            ? fmt::format("\"{}\" has no commands", CommandPath(*found))
                                            : UnknownCommand(*found, word));
    }
    found = *next;
  }
  return found;
}

std::string CommandPath(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : absl::StrCat(CommandPath(*parent), " ", app.get_name());
}

std::string HelpText(const CLI::App& app) {
  return app.get_formatter()->make_help(&app, CommandPath(app), CLI::AppFormatMode::Normal);
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string CommandLineFault(const CLI::App* app, const CLI::Error& error) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  const std::string path = CommandPath(*app);
  const std::vector<std::string> rest = app->remaining();
  const bool count = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  std::string what = count ? WrongCount(*app, error.what()) : error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) what += Meaning(*app, what);
  if (what.find(kNeedsAValue) != std::string::npos) {
    // What is left over was meant for another option.
  } else if (!rest.empty() && (CommandsOf(*app).empty() || rest.front().starts_with("-"))) {
    what = UnexpectedArgument(*app, rest.front());
  } else if (!rest.empty()) {
    what = UnknownCommand(*app, rest.front());
  } else if (app->get_require_subcommand_min() > 0) {
    what = "a command is missing; there are " + absl::StrJoin(NamesOf(*app), ", ");
  }
  return fmt::format("{}: {}\n`{} --help` says more.\n", path, Printable(what), path);
}

}  // namespace tributary::runtime
