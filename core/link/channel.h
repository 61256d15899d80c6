// The gRPC channel to an aggregator. Every client of the project uses it.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>

#include "core/config/tls.h"

namespace tributary::link {

// A channel to "host:port" or "unix:path"; mutual TLS if `tls` is given. It reconnects within half a second
// and detects a lost connection within four seconds. The server must admit a keepalive ping every two
// seconds.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const std::optional<config::TlsMaterial>& tls);

// Call before another attempt with the blocking API: waits at most half a second for the connection. gRPC
// drives a connect only while somebody waits on the channel (by itself every five seconds), and a call that
// fails at once does not wait.
void AwaitConnection(grpc::Channel& channel);

}  // namespace tributary::link
