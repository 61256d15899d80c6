#include "core/runtime/daemon_command_line.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "core/runtime/command_line.h"
#include "core/runtime/printable.h"

namespace tributary::runtime {

std::optional<int> ParseDaemonCommandLine(const DaemonProgram& program, int argc, const char* const* argv,
                                          DaemonArguments& arguments) {
  CLI::App app(program.description, program.name);
  app.add_option("--config", arguments.config, "Configuration file (TOML)")->required()->type_name("FILE");
  app.add_flag("--check", arguments.check, "Check the configuration and the files it names, then exit");
  if (program.has_summary) {
    app.add_option("--summary", arguments.summary, "Write the final account here, as JSON")
        ->type_name("FILE");
  }
  app.footer(program.examples);
  return ParseCommandLine(app, program.version, argc, argv);
}

std::string NoFaultFound(const std::string& config) {
  constexpr const char* kServiceUser = "tributary";
  std::string text = fmt::format("{}: no fault found\n", Printable(config));
  if (geteuid() == 0 && getpwnam(kServiceUser) != nullptr) {
    text += fmt::format(
        "Checked as root, who may read and write what the service may not: repeat this behind `runuser -u {} "
        "--`\n",
        kServiceUser);
  }
  return text;
}

}  // namespace tributary::runtime
