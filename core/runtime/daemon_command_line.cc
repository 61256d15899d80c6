#include "core/runtime/daemon_command_line.h"

#include <CLI/CLI.hpp>

#include "core/runtime/command_line.h"

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

}  // namespace tributary::runtime
