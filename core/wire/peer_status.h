// A status of gRPC as we log and print it.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::wire {

// The same code. The message is PeerText, or says how to mend a failed TLS handshake.
absl::Status PeerStatus(const grpc::Status& status);

// How to mend a failed TLS handshake, if gRPC's message tells of one in OpenSSL's words; else empty.
std::string HandshakeAdvice(std::string_view grpc_message);

}  // namespace tributary::wire
