#include "cli/watch/status.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_join.h"
#include "cli/aggregator_call.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "core/runtime/clock.h"
#include "core/runtime/service.h"
#include "core/wire/message_json.h"
#include "core/wire/peer_text.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {
namespace {

struct StatusArguments {
  ConnectionArguments connection;
  std::string site;
  bool json = false;
};

void PrintTable(const v1::ListNodesResponse& response) {
  std::string table =
      fmt::format("{:<12} {:<16} {:<10} {:>12} {:>12} {:>9} {:>9}  {:<24} {}\n", "SITE", "NODE", "STATE",
                  "LAST FRAME", "ACCEPTED", "REFUSED", "DROPPED", "MODEL", "SOURCES");
  const std::int64_t now_ns = runtime::SystemClock().UnixNs();
  for (const v1::Node& node : response.nodes()) {
    if (node.site().empty()) continue;  // it only learns: PrintLearners
    const double age_s = 1e-9 * static_cast<double>(now_ns - node.last_frame_unix_ns());
    const std::string last = node.last_frame_unix_ns() == 0 ? "never" : fmt::format("{:.1f} s ago", age_s);
    table += fmt::format("{:<12} {:<16} {:<10} {:>12} {:>12} {:>9} {:>9}  {:<24} {}\n",
                         wire::PeerText(node.site()), wire::PeerText(node.name()),
                         node.connected() ? "connected" : "away", last, node.accepted_frames(),
                         node.refused_frames(), node.dropped_frames(),
                         wire::PeerText(node.model_name() + " " + node.model_version()),
                         wire::PeerText(absl::StrJoin(node.sources(), ", ")));
  }
  std::fputs(table.c_str(), stdout);
}

void PrintLearners(const v1::ListNodesResponse& response) {
  std::string table;
  for (const v1::Node& node : response.nodes()) {
    for (const v1::Learning& learning : node.learns()) {
      table += fmt::format(
          "{:<16} {:<16} {:<10} {:>10} {:>10} {:>9} {:>9}  {}\n", wire::PeerText(node.name()),
          learning.run().empty() ? "waits for one" : wire::PeerText(learning.run()),
          learning.connected() ? "connected" : "away", learning.last_round(), learning.accepted_updates(),
          learning.refused_updates(), learning.dropped_rounds(), wire::PeerText(learning.last_refusal()));
    }
  }
  if (table.empty()) return;
  std::printf("\n%s%s",
              fmt::format("{:<16} {:<16} {:<10} {:>10} {:>10} {:>9} {:>9}  {}\n", "NODE", "LEARNS IN",
                          "STATE", "LAST ROUND", "ACCEPTED", "REFUSED", "DROPPED", "LAST REFUSAL")
                  .c_str(),
              table.c_str());
}

}  // namespace

void AddStatusCommand(CLI::App& parent, int& exit_code) {
  auto arguments = std::make_shared<StatusArguments>();
  CLI::App* command = parent.add_subcommand("status", "List the nodes that an aggregator knows");
  AddConnectionOptions(*command, arguments->connection);
  command->add_option("--site", arguments->site, "List only the nodes of this site");
  command->add_flag("--json", arguments->json, "Print JSON instead of the table");
  command->footer(
      "Example:\n  tributary status --site lab --json | jq '.nodes[] | select(.connected | not)'");
  command->callback([arguments, &exit_code] {
    v1::ListNodesRequest request;
    request.set_site(arguments->site);
    const auto response = CallAggregator(arguments->connection, &v1::FleetService::Stub::ListNodes, request);
    if (!response.ok()) {
      exit_code = ReportFailure("status", response.status());
      return;
    }
    if (arguments->json) {
      std::printf("%s\n", wire::MessageJson(*response).c_str());
    } else {
      PrintTable(*response);
      PrintLearners(*response);
    }
    exit_code = runtime::kExitOk;
  });
}

}  // namespace tributary::cli
