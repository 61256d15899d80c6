#include "cli/completion.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "core/runtime/command_line.h"

namespace tributary::cli {
namespace {

constexpr const char* kBashScript = R"(# Completion of tributary for bash: source <(tributary completion bash)
_tributary() {
  local paths words word=${COMP_WORDS[COMP_CWORD]}
  {
    IFS= read -r paths
    mapfile -t words
  } < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
  # Bash makes three words of --option=value.
  [[ $word != '=' ]] || word=
  mapfile -t COMPREPLY < <(
    compgen -W "${words[*]%%$'\t'*}" -- "$word"
    [[ -z $paths ]] || compgen "$paths" -- "$word"
  )
  if [[ -n $paths ]]; then compopt -o filenames 2> /dev/null; fi
}
complete -F _tributary tributary
)";

constexpr const char* kZshScript = R"(#compdef tributary
# Completion of tributary for zsh: source <(tributary completion zsh)
_tributary() {
  local -a answer offered
  answer=("${(@f)$(${~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2> /dev/null)}")
  offered=("${(@)answer[2,-1]/$'\t'/:}")
  [[ $words[CURRENT] != --*=* ]] || compset -P '*='
  (( ! $#offered )) || _describe tributary offered
  case $answer[1] in
    -f) _files ;;
    -d) _files -/ ;;
  esac
}
if [[ $funcstack[1] == _tributary ]]; then
  _tributary "$@"
else
  compdef _tributary tributary
fi
)";

constexpr const char* kFishScript = R"(# Completion of tributary for fish: tributary completion fish | source
function __tributary_offered
    set -l words (commandline -opc) (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] 2> /dev/null)
    set -l option (string match -r -- '^--[^=]+=' $words[-1])
    set -l value (string replace -r -- '^--[^=]+=' '' $words[-1])
    begin
        printf '%s\n' $answer[2..-1]
        switch "$answer[1]"
            case -f
                __fish_complete_path $value
            case -d
                __fish_complete_directories $value
        end
    end | string replace -r -- '^' "$option"
end
complete -c tributary -f -a '(__tributary_offered)'
)";

std::vector<const CLI::Option*> ArgumentsOf(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

// As `tributary help` does.
bool TakesCommands(const CLI::App& command) {
  return std::ranges::any_of(ArgumentsOf(command),
                             [](const CLI::Option* each) { return each->get_type_name() == "COMMAND"; });
}

struct Offer {
  std::string paths;
  std::string lines;

  void Add(const std::string& word, const std::string& description = "") {
    absl::StrAppend(&lines, word, description.empty() ? "" : "\t", description, "\n");
  }

  void AddCommands(const CLI::App& group) {
    for (const CLI::App* each : runtime::CommandsOf(group)) Add(each->get_name(), each->get_description());
  }

  void AddOptions(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) Add("--" + name, option->get_description());
    }
  }

  // By its type in --help: "max|HZ" is the word max, or something unknown.
  void AddValues(const CLI::Option& option) {
    for (const std::string& each : std::vector<std::string>(absl::StrSplit(option.get_type_name(), '|'))) {
      if (each == "FILE") paths = "-f";
      if (each == "FOLDER") paths = "-d";
      const bool word = std::ranges::all_of(
          each, [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; });
      if (word && !each.empty()) Add(each);
    }
  }
};

struct CompletionArguments {
  const char* script = kBashScript;
};

absl::Status PrintCompletion(const CompletionArguments& arguments) {
  std::fputs(arguments.script, stdout);
  return absl::OkStatus();
}

}  // namespace

std::string Completions(const CLI::App& program, std::vector<std::string> words) {
  std::string word = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  // --option=value in one word, or in bash's three.
  if (word.starts_with("--") && word.find('=') != std::string::npos) {
    words.push_back(word.substr(0, word.find('=')));
    word = word.substr(word.find('=') + 1);
  } else if (word == "=") {
    word.clear();
  } else if (!words.empty() && words.back() == "=") {
    words.pop_back();
  }

  const CLI::App* command = &program;
  const CLI::App* group = &program;  // whose commands may follow
  for (const std::string& each : words) {
    const absl::StatusOr<const CLI::App*> next = runtime::FindCommand(*group, {&each, 1});
    if (!next.ok()) continue;
    if (!TakesCommands(*command)) command = *next;
    group = TakesCommands(**next) ? &program : *next;
  }

  Offer offer;
  const std::string previous = words.empty() ? "" : words.back();
  const CLI::Option* option = previous.starts_with("-") ? command->get_option_no_throw(previous) : nullptr;
  if (option != nullptr && option->get_expected_max() > 0) {
    offer.AddValues(*option);
    return offer.paths + "\n" + offer.lines;
  }
  if (!word.starts_with("-")) {
    offer.AddCommands(*group);
    for (const CLI::Option* argument : ArgumentsOf(*command)) offer.AddValues(*argument);
  }
  if (offer.paths.empty() && offer.lines.empty()) offer.AddOptions(*command);
  return offer.paths + "\n" + offer.lines;
}

void AddCompletionCommand(Commands& program) {
  auto [command, arguments] = program.Add<CompletionArguments>(
      "completion", "Print a script that makes a shell complete commands, options and files",
      PrintCompletion);
  command
      .Choice("shell", arguments.script, {{"bash", kBashScript}, {"zsh", kZshScript}, {"fish", kFishScript}},
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
