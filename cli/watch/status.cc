#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

#include "cli/certificate_expiry.h"
#include "cli/commands.h"
#include "cli/watch/node_tables.h"
#include "core/runtime/clock.h"
#include "core/runtime/printable.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {
namespace {

struct StatusArguments {
  ConnectionArguments connection;
  std::string site;
  bool json = false;
};

// An honest aggregator has some 3 MB for ten thousand nodes, in pages of 1 MiB.
constexpr int kMostPages = 64;
constexpr std::chrono::seconds kPagesPatience{60};

// All pages as one answer. DataLoss for an aggregator that does not come to an end.
absl::StatusOr<v1::ListNodesResponse> AllNodes(const StatusArguments& arguments,
                                               std::string& certificate_pem) {
  const auto end = std::chrono::steady_clock::now() + kPagesPatience;
  v1::ListNodesRequest request;
  request.set_site(arguments.site);
  v1::ListNodesResponse all;
  for (int pages = 0; pages < kMostPages && std::chrono::steady_clock::now() < end; ++pages) {
    ASSIGN_OR_RETURN(
        v1::ListNodesResponse page,
        CallAggregator(arguments.connection, &v1::FleetService::Stub::ListNodes, request, &certificate_pem));
    const bool more = page.more() && page.nodes_size() > 0;
    all.set_answered_unix_ns(page.answered_unix_ns());
    *all.mutable_sites() = page.sites();
    for (v1::Node& node : *page.mutable_nodes()) *all.add_nodes() = std::move(node);
    if (!more) return all;
    const v1::Node& last = *all.nodes().rbegin();
    request.set_after_site(last.site());
    request.set_after_node(last.name());
  }
  return FromPeer(absl::DataLossError(fmt::format(
                      "its list of nodes does not end: {} of them so far. Up to {} pages in {} s are read",
                      all.nodes_size(), kMostPages, kPagesPatience.count())),
                  arguments.connection);
}

absl::Status Status(const StatusArguments& arguments) {
  std::string certificate_pem;
  ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes, AllNodes(arguments, certificate_pem));
  const std::int64_t now_ns = runtime::SystemClock().UnixNs();
  std::cout << (arguments.json ? wire::MessageJson(nodes) + "\n"
                               : NodesText(nodes, now_ns) + LearnersText(nodes));
  // Not on standard output, which programs read.
  for (const std::string& warning :
       ExpiryWarnings(arguments.connection, certificate_pem, now_ns / 1'000'000'000)) {
    std::cerr << "tributary status: warning: " << runtime::Printable(warning) << ". " << kExpiryRemedy
              << ".\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddStatusCommand(Commands& program) {
  auto [command, arguments] =
      program.Add<StatusArguments>("status", "List the nodes that an aggregator knows", Status);
  command.Connection(arguments.connection);
  command.Text("--site", arguments.site, "SITE", "List only the nodes of this site");
  command.Json(arguments.json, "Print JSON instead of the table");
  command.Examples(
      "Example:\n  tributary status --site lab --json | jq '.nodes[] | select(.connected | not)'");
}

}  // namespace tributary::cli
