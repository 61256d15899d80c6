#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "core/runtime/command_line.h"

namespace tributary::cli {
namespace {

// What may stand for a value, by its type in --help: "max|HZ" is the word max, or something unknown.
struct Candidates {
  std::vector<std::string> words;
  bool files = false;
  bool folders = false;
  bool commands = false;

  void Add(const std::string& type) {
    for (const std::string& each : std::vector<std::string>(absl::StrSplit(type, '|'))) {
      files |= each == "FILE";
      folders |= each == "FOLDER";
      commands |= each == "COMMAND";
      const bool word = std::ranges::all_of(
          each, [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; });
      if (word && !each.empty()) words.push_back(each);
    }
  }
};

struct Described {
  std::string name;
  std::string description;
};

struct OptionEntry {
  std::string name;        // "--help"
  std::string short_name;  // "-h", or empty
  std::string description;
  bool takes_value = false;
  Candidates candidates;
};

// The words of a command line up to some command, and what may follow them.
struct Place {
  std::string path;  // "tributary run start"
  std::vector<Described> commands;
  std::vector<OptionEntry> options;
  Candidates arguments;
};

Place PlaceOf(const CLI::App& app) {
  Place place{runtime::CommandPath(app), {}, {}, {}};
  for (const CLI::App* each : runtime::CommandsOf(app)) {
    place.commands.push_back({each->get_name(), each->get_description()});
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) place.arguments.Add(option->get_type_name());
    Candidates candidates;
    candidates.Add(option->get_type_name());
    const std::string short_name = option->get_snames().empty() ? "" : "-" + option->get_snames().front();
    for (const std::string& name : option->get_lnames()) {
      place.options.push_back(
          {"--" + name, short_name, option->get_description(), option->get_expected_max() > 0, candidates});
    }
  }
  return place;
}

void AddPlaces(const CLI::App& app, std::vector<Place>& places) {
  places.push_back(PlaceOf(app));
  for (const CLI::App* each : runtime::CommandsOf(app)) AddPlaces(*each, places);
}

// `help run` is followed by what follows `run`.
void AddPlacesOfCommandArguments(const CLI::App& program, std::vector<Place>& places) {
  const std::vector<Place> declared = places;
  for (Place& place : places) {
    if (place.arguments.commands) place.commands = declared.front().commands;
  }
  for (const Place& place : declared) {
    if (!place.arguments.commands) continue;
    for (const Place& group : declared) {
      if (group.path == program.get_name() || group.commands.empty()) continue;
      const std::string words = group.path.substr(program.get_name().size());
      places.push_back({place.path + words, group.commands, {}, {}});
    }
  }
}

std::vector<Place> Places(const CLI::App& program) {
  std::vector<Place> places;
  AddPlaces(program, places);
  AddPlacesOfCommandArguments(program, places);
  return places;
}

// In single quotes, for bash and zsh.
std::string Quote(const std::string& text) { return "'" + absl::StrReplaceAll(text, {{"'", "'\\''"}}) + "'"; }

std::string QuoteForFish(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
}

template <class Entries>
std::string NamesIn(const Entries& entries) {
  return absl::StrJoin(entries, " ", [](std::string* out, const auto& each) { *out += each.name; });
}

// The paths of all places but the program's own, in quotes.
std::string KnownPaths(const std::vector<Place>& places, const char* separator) {
  std::vector<std::string> paths;
  for (std::size_t i = 1; i < places.size(); ++i) paths.push_back(Quote(places[i].path));
  return absl::StrJoin(paths, separator);
}

// Patterns of `case` for the options with a value, by what is done for them: "'tributary load --http' | …".
template <class Action>
std::map<std::string, std::string> ValuePatterns(const std::vector<Place>& places, Action action) {
  std::map<std::string, std::string> patterns;
  for (const Place& place : places) {
    for (const OptionEntry& option : place.options) {
      if (!option.takes_value) continue;
      std::string& pattern = patterns[action(option.candidates)];
      pattern += (pattern.empty() ? "" : " | ") + Quote(place.path + " " + option.name);
    }
  }
  return patterns;
}

const char* PathsForBash(const Candidates& candidates) {
  return candidates.files ? "-f" : candidates.folders ? "-d" : "";
}

std::string BashCandidates(const Candidates& candidates, const std::string& more_words = "") {
  const std::string words = absl::StrJoin(candidates.words, " ");
  return fmt::format("words={} paths={}", Quote(more_words.empty() ? words : more_words + " " + words),
                     PathsForBash(candidates));
}

std::string BashScript(const std::vector<Place>& places) {
  std::string script = fmt::format(R"(# Completion of tributary for bash: source <(tributary completion bash)
_tributary() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local place=tributary words= paths= options= i
  # Bash makes three words of --option=value.
  if [[ $word == '=' ]]; then
    word=
  elif [[ $previous == '=' ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place ${{COMP_WORDS[i]}}" in
      {}) place+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$place $previous" in
)",
                                   KnownPaths(places, " | "));
  const auto action = [](const Candidates& candidates) { return BashCandidates(candidates); };
  for (const auto& [taken, pattern] : ValuePatterns(places, action)) {
    script += fmt::format("    {}) {} ;;\n", pattern, taken);
  }
  script += "    *)\n      case \"$place\" in\n";
  for (const Place& place : places) {
    script +=
        fmt::format("        {}) {} options={} ;;\n", Quote(place.path),
                    BashCandidates(place.arguments, NamesIn(place.commands)), Quote(NamesIn(place.options)));
  }
  return script + R"(      esac
      if [[ $word == -* || -z $words$paths ]]; then words=$options paths=; fi
      ;;
  esac
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$word"
    [[ -z $paths ]] || compgen "$paths" -- "$word"
  )
  if [[ -n $paths ]]; then compopt -o filenames 2> /dev/null; fi
}
complete -F _tributary tributary
)";
}

std::string ZshCandidates(const Candidates& candidates) {
  std::string action =
      candidates.words.empty() ? "" : "compadd -- " + absl::StrJoin(candidates.words, " ") + "; ";
  if (candidates.files) action += "_files; ";
  if (candidates.folders) action += "_files -/; ";
  return action;
}

template <class Entries>
std::string ZshDescriptions(const Entries& entries) {
  return absl::StrJoin(entries, " ", [](std::string* out, const auto& each) {
    *out += Quote(each.name + ":" + each.description);
  });
}

std::string ZshScript(const std::vector<Place>& places) {
  std::string script = fmt::format(R"(#compdef tributary
# Completion of tributary for zsh: source <(tributary completion zsh)
_tributary() {{
  local place=tributary word=${{words[CURRENT]}} previous=${{words[CURRENT - 1]}} i
  local -a commands options
  if [[ $word == --*=* ]]; then
    previous=${{word%%=*}}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    case "$place ${{words[i]}}" in
      ({}) place+=" ${{words[i]}}" ;;
    esac
  done
  case "$place $previous" in
)",
                                   KnownPaths(places, " | "));
  for (const auto& [action, pattern] : ValuePatterns(places, ZshCandidates)) {
    script += fmt::format("    ({}) {}return ;;\n", pattern, action);
  }
  script += "  esac\n  case \"$place\" in\n";
  for (const Place& place : places) {
    const std::string arguments = ZshCandidates(place.arguments);
    script += fmt::format("    ({})\n      commands=({})\n      options=({})\n", Quote(place.path),
                          ZshDescriptions(place.commands), ZshDescriptions(place.options));
    if (!arguments.empty()) script += "      [[ $word == -* ]] || { " + arguments + "}\n";
    script += "      ;;\n";
  }
  return script + R"(  esac
  if [[ $word == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  fi
}
if [[ $funcstack[1] == _tributary ]]; then
  _tributary "$@"
else
  compdef _tributary tributary
fi
)";
}

std::string FishCandidates(const Candidates& candidates, bool exclusive) {
  std::string flags = exclusive && !candidates.files ? " -x" : "";
  if (exclusive && candidates.files) flags = " -r";
  if (candidates.files) flags += " -F";
  std::vector<std::string> words = candidates.words;
  if (candidates.folders) words.push_back("(__fish_complete_directories)");
  if (!words.empty()) flags += " -a " + QuoteForFish(absl::StrJoin(words, " "));
  return flags;
}

std::string FishScript(const std::vector<Place>& places) {
  std::string script = fmt::format(R"(# Completion of tributary for fish: tributary completion fish | source
function __tributary_at
    set -l place tributary
    for word in (commandline -opc)[2..-1]
        switch "$place $word"
            case {}
                set place "$place $word"
        end
    end
    test "$place" = "$argv[1]"
end
complete -c tributary -f
)",
                                   KnownPaths(places, " "));
  for (const Place& place : places) {
    const std::string at = fmt::format("complete -c tributary -n {}",
                                       QuoteForFish(fmt::format("__tributary_at '{}'", place.path)));
    for (const auto& [name, description] : place.commands) {
      script += fmt::format("{} -a {} -d {}\n", at, name, QuoteForFish(description));
    }
    for (const OptionEntry& option : place.options) {
      script += fmt::format(
          "{}{} -l {}{} -d {}\n", at, option.short_name.empty() ? "" : " -s " + option.short_name.substr(1),
          option.name.substr(2), option.takes_value ? FishCandidates(option.candidates, true) : "",
          QuoteForFish(option.description));
    }
    const std::string arguments = FishCandidates(place.arguments, false);
    if (!arguments.empty()) script += at + arguments + "\n";
  }
  return script;
}

struct CompletionArguments {
  const CLI::App* program = nullptr;
  Shell shell = Shell::kBash;
};

absl::Status PrintCompletion(const CompletionArguments& arguments) {
  std::fputs(CompletionScript(*arguments.program, arguments.shell).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

std::string CompletionScript(const CLI::App& program, Shell shell) {
  const std::vector<Place> places = Places(program);
  if (shell == Shell::kBash) return BashScript(places);
  return shell == Shell::kZsh ? ZshScript(places) : FishScript(places);
}

void AddCompletionCommand(Commands& program) {
  auto [command, arguments] = program.Add<CompletionArguments>(
      "completion", "Print a script that makes a shell complete commands, options and files",
      PrintCompletion);
  arguments.program = &program.app();
  command
      .Choice("shell", arguments.shell,
              {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}},
              "Shell that runs the script")
      ->required()
      ->default_str("");
  command.Examples(
      "Examples:\n"
      "  tributary completion bash > tributary.bash\n"
      "  tributary completion zsh > _tributary\n"
      "  tributary completion fish > tributary.fish\n\n"
      "docs/running.md says where each shell looks for its file.");
}

}  // namespace tributary::cli
