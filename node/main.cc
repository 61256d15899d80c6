// tributary-node: senses, estimates, and reports probability tuples. Raw samples stay here.
#include <fmt/ranges.h>
#include <google/protobuf/stubs/logging.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/program.h"
#include "core/runtime/clock.h"
#include "core/runtime/daemon_command_line.h"
#include "core/runtime/file.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/runtime/version.h"
#include "core/status/macros.h"
#include "node/config.h"
#include "node/daemon.h"
#include "node/prepare.h"

namespace tributary::node {
namespace {

constexpr const char* kExamples = R"(Examples:
  tributary-node --config /etc/tributary/node.toml
  tributary-node --config node.toml --check          print every fault that start would find, and exit
  tributary-node --config node.toml --summary out.json

Exit status: 0 stopped or at the end of all sources, 1 a panel failed, 69 a device or port is not available, 73 the summary cannot be written, 78 the configuration is at fault.
Signals: SIGTERM stops and sends what is held, SIGHUP reads log_level and the certificates again. Changed certificates are also taken without a signal.)";

// An absent or busy device may be there at the next start; other faults must be mended by somebody.
int ExitCode(const absl::Status& status) {
  const bool may_pass = absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
                        absl::IsDeadlineExceeded(status) || absl::IsInternal(status);
  return may_pass ? runtime::kExitUnavailable : runtime::kExitConfig;
}

int Fault(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", runtime::Printable(std::string(status.message())).c_str());
  return ExitCode(status);
}

// Once there is a log.
int FaultInLog(const absl::Status& status) {
  runtime::LogError("{}", std::string(status.message()));
  return ExitCode(status);
}

absl::Status Reload(Daemon& daemon, const config::ConfigFile& started) {
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Read(started.path()));
  const NodeConfig config = ReadNodeConfig(file);
  RETURN_IF_ERROR(file.Finish());
  RETURN_IF_ERROR(runtime::SetUpLog(config.log_level));
  runtime::LogInfo("reload: log level {}", config.log_level);
  daemon.Reload(config);
  const std::vector<std::string> keys = started.NeedRestart(file);
  if (!keys.empty()) runtime::LogWarning("reload: restart to apply {}", fmt::join(keys, ", "));
  return absl::OkStatus();
}

void ReloadOrSay(Daemon& daemon, const config::ConfigFile& started) {
  const absl::Status status = Reload(daemon, started);
  if (!status.ok()) runtime::LogError("reload: nothing changed: {}", std::string(status.message()));
}

int Run(const runtime::DaemonArguments& arguments) {
  if (!arguments.summary.empty()) {
    if (absl::Status status = runtime::CheckFolderOf(arguments.summary); !status.ok()) {
      std::fprintf(stderr, "--summary: %s\n", runtime::Printable(std::string(status.message())).c_str());
      return runtime::kExitCantCreate;
    }
  }
  std::optional<runtime::EndsWhileStarting> starting("tributary-node");
  const runtime::SystemClock clock;
  const absl::StatusOr<config::ConfigFile> file = config::ConfigFile::Read(arguments.config);
  if (!file.ok()) return Fault(file.status());
  if (absl::Status status = config::CheckProgram(*file, config::Program::kNode); !status.ok()) {
    return Fault(status);
  }
  absl::StatusOr<PreparedNode> prepared = PrepareNode(*file, clock);
  if (!prepared.ok()) return Fault(prepared.status());
  if (arguments.check) {
    for (const std::string& remark : prepared->remarks)
      std::printf("%s\n", runtime::Printable(remark).c_str());
    std::printf("%s", runtime::NoFaultFound(arguments.config).c_str());
    return runtime::kExitOk;
  }
  if (absl::Status status = runtime::SetUpLog(prepared->config.log_level); !status.ok()) return Fault(status);
  for (const std::string& remark : prepared->remarks) runtime::LogWarning("{}", remark);

  const absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Create(*std::move(prepared), clock);
  if (!daemon.ok()) return FaultInLog(daemon.status());
  runtime::AddBuildInfo((*daemon)->metrics());
  starting.reset();
  if (absl::Status status = (*daemon)->Start(); !status.ok()) {
    runtime::LogError("{}", std::string(status.message()));
    return runtime::kExitUnavailable;
  }
  runtime::RunUntilStopped([&] { ReloadOrSay(**daemon, *file); }, [] { return true; },
                           [&] { return (*daemon)->finished(); }, [&] { (*daemon)->Tick(); });
  (*daemon)->Stop();

  const std::string summary = (*daemon)->Summary();
  runtime::LogInfo("{}", summary);
  if (!arguments.summary.empty()) {
    if (absl::Status status = runtime::WriteFileAtomically(arguments.summary, summary + "\n"); !status.ok()) {
      runtime::LogError("--summary: {}", std::string(status.message()));
      return runtime::kExitCantCreate;
    }
  }
  return (*daemon)->failed() ? runtime::kExitFailure : runtime::kExitOk;
}

}  // namespace
}  // namespace tributary::node

int main(int argc, char** argv) {
  tributary::runtime::BlockSignals();
  tributary::runtime::QuietLibraries();
  google::protobuf::SetLogHandler(nullptr);  // no length limit: strangers choose the message
  const tributary::runtime::DaemonProgram program{
      .name = "tributary-node",
      .version = tributary::runtime::VersionText("tributary-node"),
      .description = "Senses, estimates, and reports probability tuples to an aggregator.",
      .examples = tributary::node::kExamples,
      .has_summary = true};
  tributary::runtime::DaemonArguments arguments;
  if (const auto ended = tributary::runtime::ParseDaemonCommandLine(program, argc, argv, arguments)) {
    return *ended;
  }
  return tributary::runtime::FinishOutput(program.name, tributary::node::Run(arguments));
}
