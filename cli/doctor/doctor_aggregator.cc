#include <fmt/format.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "cli/certificate_expiry.h"
#include "cli/doctor/doctor.h"
#include "core/config/live_tls.h"
#include "core/runtime/clock.h"
#include "core/status/macros.h"
#include "core/wire/convert.h"
#include "core/wire/hello.h"
#include "core/wire/peer.h"
#include "tributary/v1/fleet.grpc.pb.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr std::chrono::seconds kSitePatience(5);

void CheckExpiry(const ConnectionArguments& connection, const std::string& aggregator_pem,
                 checks::CheckReport& report) {
  const std::int64_t now_unix_s = runtime::SystemClock().UnixNs() / 1'000'000'000;
  const std::vector<std::string> warnings = ExpiryWarnings(connection, aggregator_pem, now_unix_s);
  for (const std::string& warning : warnings) report.Warning("certificates", warning, config::kExpiryRemedy);
  if (warnings.empty()) report.Ok("certificates", "none expires within 30 days");
}

// A watcher is told it beside the first slot that the site fuses from now on.
absl::StatusOr<SiteFacts> AskSite(const ConnectionArguments& connection, const std::string& site) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Connect(connection));
  const auto stub = v1::FusionService::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(context, kSitePatience);
  v1::WatchRequest request;
  request.set_site(site);
  const auto reader = stub->Watch(&context, request);
  v1::WatchResponse response;
  if (!reader->Read(&response)) {
    const grpc::Status end = reader->Finish();
    if (end.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return absl::UnavailableError("the site fuses nothing at present");
    }
    return FromPeer(wire::StreamEnd(end), connection);
  }
  context.TryCancel();
  reader->Finish();
  SiteFacts facts{{response.leaves().begin(), response.leaves().end()}, {}};
  ASSIGN_OR_RETURN(facts.slot, wire::SlotLengthFromWire("slot_ns", response.slot_ns()));
  return facts;
}

}  // namespace

std::string AggregatorRemedy(const absl::Status& answer, const DoctorOptions& options) {
  if (absl::StrContains(answer.message(), "nobody listens"))
    return "Start the aggregator, or correct its address";
  if (!absl::IsPermissionDenied(answer)) return "Check the address, the network and the certificates";
  if (absl::StrContains(answer.message(), "is revoked"))
    return "Make this machine another certificate, as the aggregator says";
  if (absl::StrContains(answer.message(), "in refused in [access]"))
    return "If it may report again, take the name out of refused in [access] of the aggregator, then reload "
           "it";
  if (options.node.empty())
    return "Give the name on the certificate a role in the aggregator's configuration";
  return fmt::format(
      "{} in the aggregator's configuration, then reload it",
      options.only_learns
          ? fmt::format("Add \"{}\" to nodes in [access]", options.node)
          : fmt::format("Name \"{}\" as owner of its sources in [[site.owner]]", options.node));
}

void JudgeSite(const DoctorOptions& options, const absl::StatusOr<SiteFacts>& facts,
               checks::CheckReport& report) {
  if (!facts.ok()) {
    const std::string found =
        fmt::format("slot_ms and sources not compared: {}", std::string(facts.status().message()));
    return report.Warning(
        "site", found,
        absl::IsPermissionDenied(facts.status())
            ? "A viewer's certificate compares them; else the node's log shows it at the start"
            : "Try again when another node reports; else the node's log shows it at the start");
  }
  bool fits = true;
  if (facts->slot != options.slot) {
    fits = false;
    report.Fault("site",
                 fmt::format("\"{}\" counts slots of {}, the node of {}", options.site, facts->slot.Text(),
                             options.slot.Text()),
                 "Set slot_ms to the same value in the node's configuration and in the site's");
  }
  for (const std::string& source : options.sources) {
    if (std::ranges::count(facts->leaves, source) > 0) continue;
    fits = false;
    report.Fault("site",
                 fmt::format("\"{}\" is not a source of \"{}\", which has {}", source, options.site,
                             wire::PeerText(absl::StrJoin(facts->leaves, ", "))),
                 "Correct the panel's name, or add it to the site's sources");
  }
  if (fits)
    report.Ok("site",
              fmt::format("\"{}\" has these sources, and slots of {}", options.site, facts->slot.Text()));
}

bool CheckAggregator(const DoctorOptions& options, checks::CheckReport& report) {
  const ConnectionArguments& connection = options.connection;
  // What this machine lacks is not the aggregator's answer.
  if (const absl::Status own = Connect(connection).status(); !own.ok()) {
    const bool files = std::ranges::any_of(report.lines, [](const checks::CheckLine& line) {
      return line.check == "files" && line.finding == checks::Finding::kFault;
    });
    report.Fault("aggregator", files ? "was not asked: see the files above" : std::string(own.message()),
                 files ? "Mend these first" : "Do what it says, or run this as the user of the daemon");
    return false;
  }
  std::string certificate_pem;
  const auto nodes = CallAggregator(connection, &v1::FleetService::Stub::ListNodes, v1::ListNodesRequest(),
                                    &certificate_pem);
  if (!connection.tls.certificate.empty()) CheckExpiry(connection, certificate_pem, report);
  if (!nodes.ok()) {
    report.Fault("aggregator", std::string(nodes.status().message()),
                 AggregatorRemedy(nodes.status(), options));
    return false;
  }
  const std::string sites = wire::PeerText(absl::StrJoin(nodes->sites(), ", "));
  const std::string found =
      fmt::format("{} answers{}", connection.aggregator, sites.empty() ? "" : "; its sites: " + sites);
  // One that does not tell its sites may have this one.
  if (!options.site.empty() && nodes->sites_size() > 0 &&
      std::ranges::count(nodes->sites(), options.site) == 0) {
    report.Fault("aggregator", fmt::format("{}; \"{}\" is not one of them", found, options.site),
                 "Correct `site` of the node, or add the site to the aggregator");
    return true;
  }
  report.Ok("aggregator", found);
  if (options.site.empty()) return true;
  // A refused call is a line in the aggregator's logs, and an alert.
  JudgeSite(options,
            nodes->only_caller() ? absl::PermissionDeniedError("the aggregator tells them to viewers only")
                                 : AskSite(connection, options.site),
            report);
  return true;
}

}  // namespace tributary::cli
