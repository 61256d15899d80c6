#include "cli/aggregator_call.h"

#include <fmt/format.h>

#include <string_view>

#include "absl/strings/match.h"
#include "cli/failure.h"
#include "core/runtime/service.h"
#include "core/uplink/refusals.h"

namespace tributary {
namespace {

// gRPC says what it saw, not what to do.
std::string_view Advice(const absl::Status& status, const ConnectionArguments& connection) {
  if (!absl::IsUnavailable(status)) return "";
  if (absl::StrContains(status.message(), "is not in peer certificate")) {
    return "; call it by the name on its certificate, or make one that holds this address: tributary certs "
           "--name "
           "NAME=ADDRESS";
  }
  if (absl::StrContains(status.message(), "Socket closed") && connection.tls.certificate.empty()) {
    return "; if it wants mutual TLS, give --certificate, --key and --ca";
  }
  return "";
}

}  // namespace

absl::Status FromPeer(const absl::Status& status, const ConnectionArguments& connection) {
  if (status.ok()) return status;
  if (absl::IsUnimplemented(status) && status.message().empty()) {
    return WithExitCode(
        absl::UnimplementedError(
            fmt::format("{}: does not offer this: runs need [federation] in the aggregator's configuration",
                        connection.aggregator)),
        kExitFailure);
  }
  const absl::Status ours(
      status.code(), fmt::format("{}: {}{}", connection.aggregator, PeerText(std::string(status.message())),
                                 Advice(status, connection)));
  const bool answered =
      !absl::IsUnavailable(ours) && !absl::IsDeadlineExceeded(ours) && !absl::IsDataLoss(ours);
  return answered ? WithExitCode(ours, kExitFailure) : ours;
}

absl::Status FromPeer(const grpc::Status& status, const ConnectionArguments& connection) {
  return FromPeer(absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message()),
                  connection);
}

void SetDeadline(grpc::ClientContext& context, std::chrono::seconds limit) {
  context.set_deadline(std::chrono::system_clock::now() + limit);
}

}  // namespace tributary
