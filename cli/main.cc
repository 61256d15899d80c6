// tributary: trains and inspects models, fuses files, and looks after nodes and aggregators.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/completion.h"
#include "core/runtime/command_line.h"
#include "core/runtime/process.h"
#include "core/runtime/version.h"

namespace tributary::cli {
namespace {

void AddCommands(Commands& program) {
  AddWatchCommand(program);
  AddStatusCommand(program);

  Commands run = program.Group("run", "Start, follow and control runs of federated learning");
  AddRunStartCommand(run);
  AddRunListCommand(run);
  AddRunShowCommand(run);
  AddRunWatchCommand(run);
  AddRunControlCommands(run);
  AddRunSplitCommand(run);

  Commands serial = program.Group("serial", "Talk to a beacon board over a serial line, or be one");
  AddSerialServeCommand(serial);
  AddSerialCommands(serial);

  Commands recording = program.Group("recording", "Make recordings and samples to try learning boards with");
  AddRecordingBurstsCommand(recording);
  AddRecordingMoveAnchorCommand(recording);
  AddRecordingSamplesCommand(recording);

  Commands token = program.Group("token", "Make, list and revoke bearer tokens for an aggregator's HTTP");
  AddTokenCreateCommand(token);
  AddTokenInviteCommand(token);
  AddTokenListCommand(token);
  AddTokenRevokeCommand(token);

  Commands train = program.Group("train", "Train a model");
  AddTrainPositioningCommand(train);
  AddTrainBeaconCommand(train);
  AddTrainBeaconStartCommand(train);
  AddTrainModulationCommand(train);
  AddTrainSelfSupervisedCommand(train);

  Commands adapt = program.Group("adapt", "Fit a model to the place where it is used");
  AddAdaptPositioningCommand(adapt);

  Commands evaluate = program.Group("evaluate", "Measure a model on held-out data");
  AddEvaluatePositioningCommand(evaluate);
  AddEvaluateBeaconCommand(evaluate);
  AddEvaluateModulationCommand(evaluate);
  AddEvaluateEncoderCommand(evaluate);

  Commands model = program.Group("model", "Inspect, compare, export and roll back models");
  AddModelInspectCommand(model);
  AddModelListCommand(model);
  AddModelDiffCommand(model);
  AddModelRollBackCommand(model);
  AddModelExportCommand(model);
  AddModelImportCommand(model);
  AddModelRunCommand(model);
  AddModelProfileCommand(model);
  AddModelQuantiseCommand(model);

  AddInferCommand(program);
  AddConflateCommand(program);
  AddLoadCommand(program);
  AddCertsCommand(program);
  AddJoinCommand(program);
  AddDoctorCommand(program);
  AddBackupCommand(program);
  AddRestoreCommand(program);
  AddHelpCommand(program);
  AddCompletionCommand(program);
}

}  // namespace
}  // namespace tributary::cli

int main(int argc, char** argv) {
  using namespace tributary;
  runtime::QuietLibraries();
  CLI::App app("Probability tuples from FPGA boards, fused.", "tributary");
  app.footer(
      "Examples:\n"
      "  tributary watch lab                                      show the fused estimates of the site "
      "\"lab\"\n"
      "  tributary run start run.toml --aggregator hub:7400       start a run of federated learning\n"
      "  tributary model export run:letters --onnx letters.onnx   export the model of the run \"letters\"\n\n"
      "`tributary COMMAND --help` says more, with examples. A command that connects to an aggregator takes\n"
      "--aggregator, --certificate, --key and --ca. Their defaults are the environment variables\n"
      "TRIBUTARY_AGGREGATOR, TRIBUTARY_CERTIFICATE, TRIBUTARY_KEY and TRIBUTARY_CA.\n"
      "Exit status: 0 success, 1 refused or failed, 64 wrong command line, 65 wrong or damaged content,\n"
      "66 a file cannot be read, 69 not reachable, 73 a file or standard output cannot be written,\n"
      "78 faults in the configuration of a run.");

  int exit_code = runtime::kExitOk;
  cli::Commands program(app, exit_code);
  cli::AddCommands(program);
  const std::string version = runtime::VersionText("tributary");
  // What the scripts of `tributary completion` ask.
  if (argc > 1 && std::string_view(argv[1]) == "__complete") {
    app.set_version_flag("--version", version);
    std::fputs(cli::Completions(app, {argv + 2, argv + argc}).c_str(), stdout);
    return runtime::FinishOutput("tributary", runtime::kExitOk);
  }
  if (const auto ended = runtime::ParseCommandLine(app, version, argc, argv)) return *ended;
  return runtime::FinishOutput("tributary", exit_code);
}
