// tributary: trains and inspects models, fuses files, and looks after nodes and aggregators.
#include <CLI/CLI.hpp>
#include <string>

#include "cli/certs/certs.h"
#include "cli/doctor/doctor.h"
#include "cli/evaluate/evaluate_beacon.h"
#include "cli/evaluate/evaluate_encoder.h"
#include "cli/evaluate/evaluate_positioning.h"
#include "cli/load/load.h"
#include "cli/model/model_diff.h"
#include "cli/model/model_export.h"
#include "cli/model/model_inspect.h"
#include "cli/model/model_list.h"
#include "cli/model/model_roll_back.h"
#include "cli/offline/conflate.h"
#include "cli/offline/infer.h"
#include "cli/run/run_control.h"
#include "cli/run/run_list.h"
#include "cli/run/run_show.h"
#include "cli/run/run_start.h"
#include "cli/run/run_watch.h"
#include "cli/train/train_beacon.h"
#include "cli/train/train_positioning.h"
#include "cli/train/train_self_supervised.h"
#include "cli/watch/status.h"
#include "cli/watch/watch.h"
#include "core/runtime/command_line.h"
#include "core/runtime/process_tuning.h"
#include "core/runtime/service.h"
#include "core/runtime/standard_output.h"
#include "core/runtime/version.h"

int main(int argc, char** argv) {
  tributary::runtime::QuietLibraries();
  CLI::App app("Probability tuples from FPGA boards, fused.", "tributary");
  app.set_version_flag("--version", tributary::runtime::VersionText("tributary"));
  app.require_subcommand(1);
  app.failure_message(tributary::runtime::CommandLineFault);
  int exit_code = tributary::runtime::kExitOk;

  tributary::cli::AddWatchCommand(app, exit_code);
  tributary::cli::AddStatusCommand(app, exit_code);
  CLI::App* run = app.add_subcommand("run", "Start, follow and control runs of federated learning")
                      ->require_subcommand(1);
  tributary::cli::AddRunStartCommand(*run, exit_code);
  tributary::cli::AddRunListCommand(*run, exit_code);
  tributary::cli::AddRunShowCommand(*run, exit_code);
  tributary::cli::AddRunWatchCommand(*run, exit_code);
  tributary::cli::AddRunControlCommands(*run, exit_code);
  CLI::App* train = app.add_subcommand("train", "Train a model")->require_subcommand(1);
  tributary::cli::AddTrainPositioningCommand(*train, exit_code);
  tributary::cli::AddTrainBeaconCommand(*train, exit_code);
  tributary::cli::AddTrainSelfSupervisedCommand(*train, exit_code);
  CLI::App* evaluate =
      app.add_subcommand("evaluate", "Measure a model on held-out data")->require_subcommand(1);
  tributary::cli::AddEvaluatePositioningCommand(*evaluate, exit_code);
  tributary::cli::AddEvaluateBeaconCommand(*evaluate, exit_code);
  tributary::cli::AddEvaluateEncoderCommand(*evaluate, exit_code);
  CLI::App* model =
      app.add_subcommand("model", "Inspect, compare, export and roll back models")->require_subcommand(1);
  tributary::cli::AddModelInspectCommand(*model, exit_code);
  tributary::cli::AddModelListCommand(*model, exit_code);
  tributary::cli::AddModelDiffCommand(*model, exit_code);
  tributary::cli::AddModelRollBackCommand(*model, exit_code);
  tributary::cli::AddModelExportCommand(*model, exit_code);
  tributary::cli::AddInferCommand(app, exit_code);
  tributary::cli::AddConflateCommand(app, exit_code);
  tributary::cli::AddLoadCommand(app, exit_code);
  tributary::cli::AddCertsCommand(app, exit_code);
  tributary::cli::AddDoctorCommand(app, exit_code);

  for (CLI::App* group : {run, train, evaluate, model}) {
    group->footer("`tributary " + group->get_name() + " COMMAND --help` says more, with examples.");
  }
  // Last: a command takes its parent's footer when it is added.
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

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? tributary::runtime::kExitOk : tributary::runtime::kExitUsage;
  }
  return tributary::runtime::FinishOutput("tributary", exit_code);
}
