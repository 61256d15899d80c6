#include "cli/model/model_list.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "cli/aggregator_call.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "core/runtime/clock.h"
#include "core/runtime/service.h"
#include "core/wire/message_json.h"
#include "core/wire/peer_text.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

struct ModelListArguments {
  ConnectionArguments connection;
  std::string run;
  bool json = false;
};

void PrintTable(const v1::ListModelsResponse& response) {
  std::string table = fmt::format("{:<24} {:>6} {:<3} {:>12} {:>10} {:>12}  {}\n", "RUN", "ROUND", "",
                                  "PARAMETERS", "SIZE", "AGE", "SHA-256");
  const std::int64_t now_ns = runtime::SystemClock().UnixNs();
  for (const v1::Model& model : response.models()) {
    const double age_s = 1e-9 * static_cast<double>(now_ns - model.created_unix_ns());
    table += fmt::format("{:<24} {:>6} {:<3} {:>12} {:>7.1f} MB {:>10.0f} s  {}\n",
                         wire::PeerText(model.run()), model.round(), model.current() ? "now" : "",
                         model.element_count(), 1e-6 * static_cast<double>(model.file_bytes()), age_s,
                         absl::BytesToHexString(model.sha256()).substr(0, 16));
  }
  std::fputs(table.c_str(), stdout);
}

absl::Status List(const ModelListArguments& arguments) {
  v1::ListModelsRequest request;
  request.set_run(arguments.run);
  const auto response = CallAggregator(arguments.connection, &v1::ModelService::Stub::ListModels, request);
  if (!response.ok()) return response.status();
  if (!arguments.json) {
    PrintTable(*response);
    return absl::OkStatus();
  }
  std::printf("%s\n", wire::MessageJson(*response).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddModelListCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<ModelListArguments>();
  CLI::App* command = parent.add_subcommand("list", "List the models that an aggregator's runs have made");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("--run", arguments->run, "List only the models of this run");
  command->add_flag("--json", arguments->json, "Print JSON instead of the table");
  command->footer("Example:\n  tributary model list --run letters");
  command->callback([arguments, &exit_code] {
    const absl::Status status = List(*arguments);
    exit_code = status.ok() ? runtime::kExitOk : ReportFailure("model list", status);
  });
}

}  // namespace tributary::cli
