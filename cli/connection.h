// How a command reaches an aggregator and asks it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/config/tls.h"
#include "core/status/macros.h"
#include "core/wire/json.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::cli {

struct ConnectionArguments {
  std::string aggregator = "127.0.0.1:7400";
  config::TlsFiles tls = {};
};

// Nothing if no file is given. Errors: as LoadTls; a UsageError if only some of the three files are given.
absl::StatusOr<std::optional<config::TlsMaterial>> LoadClientTls(const config::TlsFiles& files);

// Errors: as LoadClientTls.
absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const ConnectionArguments& arguments);

// Every call but that of a watcher has a deadline.
void SetDeadline(grpc::ClientContext& context, std::chrono::seconds limit = std::chrono::seconds(30));

// What a peer answered or why it did not, naming the aggregator and, where that is known, what to do. A
// refusal ends a command with 1, whatever its code (ExitCode).
absl::Status FromPeer(const absl::Status& status, const ConnectionArguments& connection);
absl::Status FromPeer(const grpc::Status& status, const ConnectionArguments& connection);

// The certificate that the other side of a call has shown, as PEM; empty without TLS.
std::string PeerCertificate(const grpc::ClientContext& context);

// One unary call, as in CallAggregator(connection, &v1::RunService::Stub::GetRun, request). Gives the
// aggregator's certificate to `certificate_pem`, if that is asked for. Errors: those of Connect and FromPeer.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> CallAggregator(const ConnectionArguments& connection,
                                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                                     Response*),
                                        const Request& request, std::string* certificate_pem = nullptr) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Connect(connection));
  Stub stub(channel);
  grpc::ClientContext context;
  SetDeadline(context);
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (certificate_pem != nullptr) *certificate_pem = PeerCertificate(context);
  if (!status.ok()) return FromPeer(status, connection);
  return response;
}

// CallAggregator, then prints the response: with `json` as one line, else the lines that `text` makes of it.
template <class Stub, class Request, class Response, class Text>
absl::Status PrintAnswer(const ConnectionArguments& connection, bool json,
                         grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                         const Request& request, const Text& text) {
  ASSIGN_OR_RETURN(const Response response, CallAggregator(connection, method, request));
  std::cout << (json ? wire::MessageJson(response) + "\n" : text(response));
  return absl::OkStatus();
}

// The only site of the aggregator. UsageError: it has several, which are named, or none is known. An
// aggregator that does not tell its sites (an older one) is judged by the sites of its nodes.
absl::StatusOr<std::string> OnlySite(const v1::ListNodesResponse& nodes);

}  // namespace tributary::cli
