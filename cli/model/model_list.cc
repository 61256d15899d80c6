#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "absl/strings/escaping.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/run/run_messages.h"
#include "cli/table.h"
#include "core/runtime/clock.h"
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
  Table table({Left("RUN"), Right("ROUND"), Left(""), Right("PARAMETERS"), Right("SIZE"), Right("AGE"),
               Left("SHA-256")});
  const std::int64_t now_ns = runtime::SystemClock().UnixNs();
  for (const v1::Model& model : response.models()) {
    const double age_s = 1e-9 * static_cast<double>(now_ns - model.created_unix_ns());
    table.Add(model.run(), model.round(), model.current() ? "now" : "", model.element_count(),
              fmt::format("{:.1f} MB", 1e-6 * static_cast<double>(model.file_bytes())),
              fmt::format("{:.0f} s", age_s), absl::BytesToHexString(model.sha256()).substr(0, 16));
  }
  std::fputs(table.Text().c_str(), stdout);
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

void AddModelListCommand(Commands& model) {
  auto [command, arguments] =
      model.Add<ModelListArguments>("list", "List the models that an aggregator's runs have made", List);
  command.Connection(arguments.connection);
  command.Text("--run", arguments.run, "RUN", "List only the models of this run");
  command.Json(arguments.json, "Print JSON instead of the table");
  command.Examples("Example:\n  tributary model list --run letters");
}

}  // namespace tributary::cli
