// A status of gRPC as we log and print it.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::wire {

// The same code; the message is PeerText, or what to do about a TLS handshake that failed.
absl::Status PeerStatus(const grpc::Status& status);

// What to do where gRPC's message tells that a TLS handshake failed, which it does in OpenSSL's words; empty
// for any other message.
std::string HandshakeAdvice(std::string_view grpc_message);

}  // namespace tributary::wire
