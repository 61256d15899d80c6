// The gRPC channel to an aggregator, as every client of the project makes it.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>

#include "core/config/tls.h"

namespace tributary::link {

// A channel to "host:port" or "unix:path"; mutual TLS if `tls` is given. It reconnects within half a second
// and notices a cut link within four: the server must admit keepalive pings every two seconds.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const std::optional<config::TlsMaterial>& tls);

// Before another attempt with the blocking API: waits at most half a second for the connection. A connect
// makes progress only while somebody waits on the channel (gRPC looks after it by itself every five seconds),
// and calls that fail at once do not.
void AwaitConnection(grpc::Channel& channel);

}  // namespace tributary::link
