#include "cli/connection.h"

#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "cli/failure.h"
#include "core/link/channel.h"
#include "core/runtime/process.h"
#include "core/wire/peer.h"

namespace tributary::cli {
namespace {

// What to do, where that is known.
std::string Advice(const absl::Status& status, const std::string& text,
                   const ConnectionArguments& connection) {
  if (!absl::IsUnavailable(status)) return "";
  if (absl::StrContains(text, "the CA in the ca file")) return fmt::format(" (here: {})", connection.tls.ca);
  if (absl::StrContains(text, "Socket closed")) {
    const std::string tls = connection.tls.certificate.empty()
                                ? "if it wants mutual TLS, give --certificate, --key and --ca"
                                : fmt::format("it may not trust {}: its ca must be the one that signed this",
                                              connection.tls.certificate);
    return fmt::format("; {}; or it refuses this address for now: its log says why", tls);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::optional<config::TlsMaterial>> LoadClientTls(const config::TlsFiles& files) {
  const int given = !files.certificate.empty() + !files.key.empty() + !files.ca.empty();
  if (given == 0) return std::nullopt;
  if (given < 3) return UsageError("--certificate, --key and --ca must be given together");
  return config::LoadTls(files, config::kClientOnly);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectionArguments& arguments) {
  ASSIGN_OR_RETURN(const std::optional<config::TlsMaterial> tls, LoadClientTls(arguments.tls));
  return link::MakeChannel(arguments.aggregator, tls);
}

absl::Status FromPeer(const absl::Status& status, const ConnectionArguments& connection) {
  if (status.ok()) return status;
  if (absl::IsUnimplemented(status) && status.message().empty()) {
    return absl::UnimplementedError(
        fmt::format("{}: does not offer this: runs need [federation] in the aggregator's configuration",
                    connection.aggregator));
  }
  const std::string message(status.message());
  if (wire::NobodyListens(message) || message == wire::kNobodyListens) {
    return absl::UnavailableError(
        fmt::format("nobody listens at {}; is the aggregator running?", connection.aggregator));
  }
  const std::string handshake = wire::HandshakeAdvice(message);
  const std::string text = handshake.empty() ? wire::PeerText(message) : handshake;
  const absl::Status ours(
      status.code(), fmt::format("{}: {}{}", connection.aggregator, text, Advice(status, text, connection)));
  const bool answered =
      !absl::IsUnavailable(ours) && !absl::IsDeadlineExceeded(ours) && !absl::IsDataLoss(ours);
  return answered ? WithExitCode(ours, runtime::kExitFailure) : ours;
}

absl::Status FromPeer(const grpc::Status& status, const ConnectionArguments& connection) {
  return FromPeer(absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
                  connection);
}

std::string PeerCertificate(const grpc::ClientContext& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr) return "";  // there was no connection
  const auto pem = peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return pem.empty() ? "" : std::string(pem.front().data(), pem.front().size());
}

void SetDeadline(grpc::ClientContext& context, std::chrono::seconds limit) {
  context.set_deadline(std::chrono::system_clock::now() + limit);
}

absl::StatusOr<std::string> OnlySite(const v1::ListNodesResponse& nodes) {
  std::set<std::string> sites(nodes.sites().begin(), nodes.sites().end());
  if (sites.empty()) {
    for (const v1::Node& node : nodes.nodes()) {
      if (!node.site().empty()) sites.insert(node.site());
    }
  }
  if (sites.size() == 1) return *sites.begin();
  if (sites.empty()) return UsageError("the aggregator names no site: its configuration has no [[site]]");
  return UsageError(fmt::format("the aggregator has several sites; name one of {}",
                                wire::PeerText(absl::StrJoin(sites, ", "))));
}

}  // namespace tributary::cli
