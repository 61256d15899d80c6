// The command line that all daemons share.
#pragma once

#include <optional>
#include <string>

namespace tributary::runtime {

struct DaemonProgram {
  const char* name;         // "tributary-node"
  std::string version;      // VersionText(name)
  const char* description;  // one sentence
  const char* examples;     // how it is called, exit statuses, signals
  bool has_summary;         // knows --summary
};

struct DaemonArguments {
  std::string config;   // file
  std::string summary;  // file; empty: none
  bool check = false;   // look for faults, then exit
};

// Gives the exit code where the program must end, as ParseCommandLine. CLI11 is kept out of this header
// because it is slow to compile.
std::optional<int> ParseDaemonCommandLine(const DaemonProgram& program, int argc, const char* const* argv,
                                          DaemonArguments& arguments);

// What --check says of a configuration without a fault. As root, on a machine with the service's user, also
// that root has other permissions.
std::string NoFaultFound(const std::string& config);

}  // namespace tributary::runtime
