// What a peer of a gRPC call says, and who it is.
#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/support/status.h>

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::wire {

// Stands in the headers of a Watch stream that the aggregator has admitted, before the first slot. A refused
// stream, and one of an earlier release, does not have it.
inline constexpr char kWatchAdmitted[] = "tributary-watch";

// A peer's text, fit for a log: shortened, control characters escaped.
std::string PeerText(const std::string& text, std::size_t most_bytes = 240);

// PeerStatus says it where no process listens at the address.
inline constexpr std::string_view kNobodyListens = "nobody listens there; is the aggregator running?";

// The same code. The message is PeerText, kNobodyListens, or says how to mend a failed TLS handshake.
absl::Status PeerStatus(const grpc::Status& status);

// Why a stream that the peer should keep open has ended: PeerStatus, or Unavailable if the peer just ended
// it.
absl::Status StreamEnd(const grpc::Status& status);

// Whether gRPC's message tells that no process listens at an address; at a unix socket the file may be
// absent.
bool NobodyListens(std::string_view grpc_message);

// How to mend a connection that failed by a TLS handshake or a name, if gRPC's message tells of one; else
// empty.
std::string HandshakeAdvice(std::string_view grpc_message);

// The status for a peer, with the same code. The message is cut to 4 kB: a client takes 8 kB of metadata.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The common name of the peer's certificate; nothing where TLS is off.
std::optional<std::string> PeerCertificateName(const grpc::AuthContext& context);

}  // namespace tributary::wire
