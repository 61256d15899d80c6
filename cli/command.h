// How a command of `tributary` is declared: once. Parser, --help, errors and completion read the declaration.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cli/connection.h"
#include "core/estimate/slot_length.h"

namespace tributary::cli {

// What a number may be.
template <class T>
struct Limits {
  T least = 0;
  T most = std::numeric_limits<T>::max();
};

// Stores the number that `text` gives; else says what is wrong, and what is allowed. For int, std::uint32_t,
// std::uint64_t and double.
template <class T>
std::string ReadNumber(const std::string& text, const Limits<T>& limits, T& value);

// "\"0\" is not allowed; use ALLOWED".
std::string NotAllowed(const std::string& text, const std::string& allowed);

class Commands;

// The options of one command. `names` is "--name" for an option, "name" for an argument. `type` is what
// --help shows for the value: words in lower case stand for themselves, as in "max|HZ"; FILE and FOLDER are
// paths. Completion offers those. Each value given here is the default, and outlives the parsing. The results
// are for what few options need: ->required(), ->needs().
class Command {
 public:
  // Parsing sets `exit_code`.
  Command(CLI::App& app, int& exit_code) : app_(&app), exit_code_(&exit_code) {}

  // For commands of its own, as `certs revoke`: one of them then runs in its place.
  Commands Below();

  CLI::Option* Text(const std::string& names, std::string& value, const std::string& type,
                    const std::string& help);
  // May be given several times.
  CLI::Option* Texts(const std::string& names, std::vector<std::string>& values, const std::string& type,
                     const std::string& help);

  template <class T>
  CLI::Option* Number(const std::string& names, T& value, const std::string& type, const std::string& help,
                      const Limits<std::type_identity_t<T>>& limits = {}) {
    return Value(names, type, help, fmt::format("{}", value),
                 [&value, limits](const std::string& text) { return ReadNumber(text, limits, value); });
  }

  // A word for each value.
  template <class T>
  CLI::Option* Choice(const std::string& names, T& value,
                      const std::vector<std::pair<std::string, std::type_identity_t<T>>>& words,
                      const std::string& help) {
    std::vector<std::string> known;
    std::string preset;
    for (const auto& [word, meant] : words) {
      known.push_back(word);
      if (meant == value) preset = word;
    }
    return OneOf(names, help, known, preset,
                 [&value, words](std::size_t which) { value = words[which].second; });
  }

  // Anything else. `take` stores the value that a text gives, or says what is wrong with it. Several values,
  // where ->expected() allows them, have commas between them.
  CLI::Option* Value(const std::string& names, const std::string& type, const std::string& help,
                     const std::string& preset, std::function<std::string(const std::string&)> take);

  void Flag(const std::string& name, bool& value, const std::string& help);
  void Json(bool& value, const std::string& help = "Print one JSON object");

  // --aggregator, --certificate, --key, --ca, or the environment's TRIBUTARY_AGGREGATOR,
  // TRIBUTARY_CERTIFICATE, TRIBUTARY_KEY, TRIBUTARY_CA.
  void Connection(ConnectionArguments& arguments, const std::string& help = "Address of the aggregator");

  // --slot-ms, for commands that count slots as a site does.
  void SlotLength(estimate::SlotLength& slot);

  // What stands below the options: examples as they are typed, then what else must be said.
  void Examples(const std::string& text) { app_->footer(text); }

 private:
  CLI::Option* OneOf(const std::string& names, const std::string& help, const std::vector<std::string>& words,
                     const std::string& preset, std::function<void(std::size_t)> take);

  CLI::App* app_;
  int* exit_code_;
};

template <class Arguments>
struct DeclaredCommand {
  Command command;
  Arguments& arguments;  // live as long as the program's CLI::App
};

// The program, or a group of its commands such as `tributary run`.
class Commands {
 public:
  // Parsing runs a command, which sets `exit_code`.
  Commands(CLI::App& app, int& exit_code) : Commands(&app, &exit_code) { app.require_subcommand(1); }

  Commands Group(const std::string& name, const std::string& description);

  // A command whose options fill Arguments, which `action` then gets. A status that is not OK ends the
  // command with ReportFailure.
  template <class Arguments>
  DeclaredCommand<Arguments> Add(const std::string& name, const std::string& description,
                                 absl::Status (*action)(const Arguments&)) {
    const auto arguments = std::make_shared<Arguments>();
    return {AddCommand(name, description, [arguments, action] { return action(*arguments); }), *arguments};
  }

  const CLI::App& app() const { return *app_; }

 private:
  friend Commands Command::Below();
  Commands(CLI::App* app, int* exit_code) : app_(app), exit_code_(exit_code) {}
  Command AddCommand(const std::string& name, const std::string& description,
                     std::function<absl::Status()> action);

  CLI::App* app_;
  int* exit_code_;
};

}  // namespace tributary::cli
