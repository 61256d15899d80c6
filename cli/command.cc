#include "cli/command.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "cli/failure.h"
#include "core/runtime/address.h"
#include "core/runtime/command_line.h"
#include "core/runtime/process.h"

namespace tributary::cli {
namespace {

bool Parse(const std::string& text, double& value) {
  return absl::SimpleAtod(text, &value) && std::isfinite(value);
}

template <class T>
bool Parse(const std::string& text, T& value) {
  return absl::SimpleAtoi(text, &value);
}

template <class T>
std::string Allowed(const Limits<T>& limits) {
  const std::string number = std::is_integral_v<T> ? "a whole number" : "a number";
  if (!std::is_integral_v<T> && limits.most == std::numeric_limits<T>::max()) {
    return fmt::format("{} of at least {}", number, limits.least);
  }
  return fmt::format("{} from {} to {}", number, limits.least, limits.most);
}

// "a, b or c".
std::string Alternatives(const std::vector<std::string>& words) {
  const auto last = words.end() - 1;
  return words.size() < 2 ? *last : absl::StrJoin(words.begin(), last, ", ") + " or " + *last;
}

// Refuses another option in the place of a value, which the shell makes of an empty variable.
auto IsNoOption(const CLI::App* app) {
  return [app](const std::string& text) {
    if (!text.starts_with("--") || app->get_option_no_throw(text) == nullptr) return std::string();
    return fmt::format("{}, and {} is an option", runtime::kNeedsAValue, text);
  };
}

}  // namespace

template <class T>
std::string ReadNumber(const std::string& text, const Limits<T>& limits, T& value) {
  T number = 0;
  if (!Parse(text, number) || number < limits.least || number > limits.most) {
    return NotAllowed(text, Allowed(limits));
  }
  value = number;
  return "";
}

template std::string ReadNumber(const std::string&, const Limits<int>&, int&);
template std::string ReadNumber(const std::string&, const Limits<std::uint32_t>&, std::uint32_t&);
template std::string ReadNumber(const std::string&, const Limits<std::uint64_t>&, std::uint64_t&);
template std::string ReadNumber(const std::string&, const Limits<double>&, double&);

std::string NotAllowed(const std::string& text, const std::string& allowed) {
  return fmt::format("\"{}\" is not allowed; use {}", text, allowed);
}

CLI::Option* Command::Text(const std::string& names, std::string& value, const std::string& type,
                           const std::string& help) {
  return app_->add_option(names, value, help)
      ->type_name(type)
      ->check(IsNoOption(app_), "")
      ->capture_default_str();
}

CLI::Option* Command::Texts(const std::string& names, std::vector<std::string>& values,
                            const std::string& type, const std::string& help) {
  return app_->add_option(names, values, help)->type_name(type)->check(IsNoOption(app_), "");
}

CLI::Option* Command::OneOf(const std::string& names, const std::string& help,
                            const std::vector<std::string>& words, const std::string& preset,
                            std::function<void(std::size_t)> take) {
  return Value(names, absl::StrJoin(words, "|"), help, preset,
               [words, take = std::move(take)](const std::string& text) {
                 const auto found = std::ranges::find(words, text);
                 if (found == words.end())
                   return fmt::format("\"{}\" is not known; use {}", text, Alternatives(words));
                 take(static_cast<std::size_t>(found - words.begin()));
                 return std::string();
               });
}

CLI::Option* Command::Value(const std::string& names, const std::string& type, const std::string& help,
                            const std::string& preset, std::function<std::string(const std::string&)> take) {
  const std::string name = names.substr(names.rfind(',') + 1);
  return app_
      ->add_option(
          names,
          [name, is_no_option = IsNoOption(app_), take = std::move(take)](const CLI::results_t& given) {
            std::string fault = given.empty() ? std::string() : is_no_option(given.front());
            if (fault.empty()) fault = take(absl::StrJoin(given, ","));
            if (!fault.empty()) throw CLI::ValidationError(name, fault);
            return true;
          },
          help)
      ->type_name(type)
      ->default_str(preset);
}

void Command::Flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help)->disable_flag_override();
}

void Command::Json(bool& value, const std::string& help) { Flag("--json", value, help); }

void Command::Connection(ConnectionArguments& arguments, const std::string& help) {
  // Without a default the command can do without an aggregator: "" says so, whatever the variable says.
  const bool optional = arguments.aggregator.empty();
  Text("--aggregator", arguments.aggregator, "HOST:PORT", help)
      ->envname("TRIBUTARY_AGGREGATOR")
      ->check([optional](const std::string& address) {
        if (optional && address.empty()) return std::string();
        return std::string(runtime::CheckAddress(address, runtime::AddressUse::kDial).message());
      });
  Text("--certificate", arguments.tls.certificate, "FILE", "Certificate of this client, for mutual TLS")
      ->envname("TRIBUTARY_CERTIFICATE");
  Text("--key", arguments.tls.key, "FILE", "Private key of that certificate")->envname("TRIBUTARY_KEY");
  Text("--ca", arguments.tls.ca, "FILE", "Certificate of the CA that signed the aggregator's certificate")
      ->envname("TRIBUTARY_CA");
}

void Command::SlotLength(estimate::SlotLength& slot) {
  Value(
      "--slot-ms", "MS", "Length of the site's slots, its slot_ms", "0.5", [&slot](const std::string& text) {
        double ms = 0;
        const auto read = absl::SimpleAtod(text, &ms) ? estimate::SlotLength::FromMs(ms) : std::nullopt;
        if (!read) {
          return NotAllowed(text, fmt::format("a length from {} to {} ms", estimate::SlotLength::kShortestMs,
                                              estimate::SlotLength::kLongestMs));
        }
        slot = *read;
        return std::string();
      });
}

Commands Command::Below() { return Commands(app_, exit_code_); }

Commands Commands::Group(const std::string& name, const std::string& description) {
  CLI::App* group = app_->add_subcommand(name, description);
  group->footer(fmt::format("`{} COMMAND --help` says more, with examples.", runtime::CommandPath(*group)));
  return Commands(*group, *exit_code_);
}

Command Commands::AddCommand(const std::string& name, const std::string& description,
                             std::function<absl::Status()> action) {
  CLI::App* command = app_->add_subcommand(name, description);
  command->footer("");  // not that of the group
  command->callback([command, action = std::move(action), &exit_code = *exit_code_] {
    if (!command->get_subcommands().empty()) return;  // one of those runs
    const absl::Status status = action();
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure(runtime::CommandPath(*command), status);
  });
  return Command(*command, *exit_code_);
}

}  // namespace tributary::cli
