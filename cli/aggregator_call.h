// Calls of an aggregator, as the commands make them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/connection.h"

namespace tributary::cli {

// Every call but that of a watcher has a deadline.
void SetDeadline(grpc::ClientContext& context, std::chrono::seconds limit = std::chrono::seconds(30));

// What a peer answered or why it did not, naming the aggregator and, where that is known, what to do. A
// refusal ends a command with 1, whatever its code (ExitCode).
absl::Status FromPeer(const absl::Status& status, const ConnectionArguments& connection);
absl::Status FromPeer(const grpc::Status& status, const ConnectionArguments& connection);

// One unary call, as in CallAggregator(connection, &v1::RunService::Stub::GetRun, request). Errors: those of
// Connect and FromPeer.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> CallAggregator(const ConnectionArguments& connection,
                                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                                     Response*),
                                        const Request& request) {
  const auto channel = Connect(connection);
  if (!channel.ok()) return channel.status();
  Stub stub(*channel);
  grpc::ClientContext context;
  SetDeadline(context);
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return FromPeer(status, connection);
  return response;
}

}  // namespace tributary::cli
