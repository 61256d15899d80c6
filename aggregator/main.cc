// tributary-aggregator: takes tuples from nodes, fuses them, publishes the result.
#include <fmt/ranges.h>
#include <google/protobuf/stubs/logging.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/config.h"
#include "aggregator/daemon.h"
#include "aggregator/memory_ceiling.h"
#include "aggregator/prepare.h"
#include "core/config/program.h"
#include "core/runtime/clock.h"
#include "core/runtime/daemon_command_line.h"
#include "core/runtime/freed_memory.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/runtime/version.h"
#include "core/status/macros.h"

namespace tributary::aggregator {
namespace {

constexpr const char* kExamples = R"(Examples:
  tributary-aggregator --config /etc/tributary/aggregator.toml
  tributary-aggregator --config aggregator.toml --check     print every fault that start would find, and exit

Exit status: 0 stopped, 1 failed, 65 the store is damaged, 69 a port is not available, 78 the configuration is at fault.
Signals: SIGTERM stops, SIGHUP reads log_level, access, certificates and what fuses again. Changed certificates are also taken without a signal.)";

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return runtime::kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      return runtime::kExitConfig;
    case absl::StatusCode::kUnavailable:
      return runtime::kExitUnavailable;
    case absl::StatusCode::kDataLoss:
      return runtime::kExitData;
    default:
      return runtime::kExitFailure;
  }
}

absl::Status Reload(Daemon& daemon, const config::ConfigFile& started) {
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Read(started.path()));
  const AggregatorConfig config = ReadAggregatorConfig(file);
  RETURN_IF_ERROR(file.Finish());
  RETURN_IF_ERROR(daemon.Reload(config));
  const std::vector<std::string> keys = started.NeedRestart(file);
  if (!keys.empty()) runtime::LogWarning("reload: restart to apply {}", fmt::join(keys, ", "));
  return absl::OkStatus();
}

void ReloadOrSay(Daemon& daemon, const config::ConfigFile& started) {
  const absl::Status status = Reload(daemon, started);
  if (!status.ok())
    runtime::LogError("reload refused, all stays as it was: {}", std::string(status.message()));
}

absl::Status Serve(PreparedAggregator prepared, const config::ConfigFile& file,
                   std::optional<runtime::EndsWhileStarting>& starting) {
  const runtime::SystemClock clock;
  ASSIGN_OR_RETURN(const std::unique_ptr<Daemon> daemon, Daemon::Create(std::move(prepared), clock));
  runtime::AddBuildInfo(daemon->metrics());
  starting.reset();
  RETURN_IF_ERROR(daemon->Start());
  runtime::FreedMemory freed;
  const auto tick = [&] {
    daemon->FollowFiles();
    freed.ReturnWhenQuiet();
  };
  runtime::RunUntilStopped([&] { ReloadOrSay(*daemon, file); }, [&] { return daemon->healthy(); },
                           [] { return false; }, tick);
  daemon->Stop();
  return absl::OkStatus();
}

// `logs`: whether an error belongs into the log, or comes before there is one.
absl::Status Run(const std::string& path, bool check_only, bool& logs) {
  std::optional<runtime::EndsWhileStarting> starting("tributary-aggregator");
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Read(path));
  RETURN_IF_ERROR(config::CheckProgram(file, config::Program::kAggregator));
  ASSIGN_OR_RETURN(PreparedAggregator prepared, PrepareAggregator(file));
  if (check_only) {
    const std::vector<MemoryTerm> terms = MemoryTerms(prepared.config);
    std::vector<std::string> remarks = prepared.remarks;
    if (prepared.authority) remarks.push_back(prepared.authority->record.TornLineWarning());
    for (const std::string& each : remarks) {
      if (!each.empty()) std::fprintf(stderr, "warning: %s\n", runtime::Printable(each).c_str());
    }
    std::printf("%s%s", runtime::NoFaultFound(path).c_str(), MemoryText(terms).c_str());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(runtime::SetUpLog(prepared.config.log_level));
  logs = true;
  for (const std::string& each : prepared.remarks) runtime::LogWarning("{}", each);
  return Serve(std::move(prepared), file, starting);
}

// Says an error; gives the exit status.
int RunAndSay(const std::string& path, bool check_only) {
  bool logs = false;
  const absl::Status status = Run(path, check_only, logs);
  if (!status.ok() && logs) runtime::LogError("{}", std::string(status.message()));
  if (!status.ok() && !logs) {
    std::fprintf(stderr, "%s\n", runtime::Printable(std::string(status.message())).c_str());
  }
  return ExitCode(status);
}

}  // namespace
}  // namespace tributary::aggregator

int main(int argc, char** argv) {
  tributary::runtime::BlockSignals();
  tributary::runtime::TuneProcess();
  tributary::runtime::QuietLibraries();
  google::protobuf::SetLogHandler(nullptr);  // no length limit: strangers choose the message
  const tributary::runtime::DaemonProgram program{
      .name = "tributary-aggregator",
      .version = tributary::runtime::VersionText("tributary-aggregator"),
      .description = "Fuses the probability tuples that nodes report, averages what they learn.",
      .examples = tributary::aggregator::kExamples,
      .has_summary = false};
  tributary::runtime::DaemonArguments arguments;
  if (const auto ended = tributary::runtime::ParseDaemonCommandLine(program, argc, argv, arguments)) {
    return *ended;
  }
  return tributary::runtime::FinishOutput(
      program.name, tributary::aggregator::RunAndSay(arguments.config, arguments.check));
}
