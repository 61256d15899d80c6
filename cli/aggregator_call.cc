#include "cli/aggregator_call.h"

#include <fmt/format.h>

#include "core/uplink/refusals.h"

namespace tributary {

absl::Status FromPeer(const grpc::Status& status, const std::string& aggregator) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty()) {
    return absl::UnimplementedError(fmt::format(
        "{}: does not offer this: runs need [federation] in the aggregator's configuration", aggregator));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      fmt::format("{}: {}", aggregator, PeerText(status.error_message())));
}

void SetDeadline(grpc::ClientContext& context, std::chrono::seconds limit) {
  context.set_deadline(std::chrono::system_clock::now() + limit);
}

}  // namespace tributary
