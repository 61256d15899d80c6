// What the gRPC server knows of a call of the callback API beside what gRPC does.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "aggregator/access/access_control.h"
#include "aggregator/access/peer.h"

namespace tributary::access {

struct CallContext : grpc::CallbackServerContext {
  // The peer has lost its role or its certificate since the call began. The call is cancelled, but its
  // request may have come just before.
  std::atomic<bool> revoked = false;
  AccessControl* access = nullptr;  // null without TLS
  Peer caller;                      // where access is not null
  // What the call has said takes the role of a child, as long as it is open.
  std::atomic<bool> speaks_for_others = false;

  // A message of it has come.
  virtual void CountMessage() {}
  // A message of so many bytes goes to its peer.
  virtual void CountTold(std::size_t) {}
  // Its request is one that no node makes, or a model that is not taken in.
  virtual void CountMalformed() {}
};

// For services that read a stream, at each message: a connection that sends much and says nothing is cut.
inline void CountMessage(grpc::CallbackServerContext& context) {
  if (auto* const call = dynamic_cast<CallContext*>(&context)) call->CountMessage();
}

// For services that write a stream, at each message: what answers it, window updates, is paid for.
inline void CountTold(grpc::CallbackServerContext& context, std::size_t bytes) {
  if (auto* const call = dynamic_cast<CallContext*>(&context)) call->CountTold(bytes);
}

// For services that refuse a request for its size or its fields: a peer that goes on with such is cut.
inline void CountMalformed(grpc::CallbackServerContext& context) {
  if (auto* const call = dynamic_cast<CallContext*>(&context)) call->CountMalformed();
}

// PermissionDenied if the call was revoked. For services, before a call of one request does anything.
inline absl::Status CheckNotRevoked(const grpc::CallbackServerContext& context) {
  const auto* const call = dynamic_cast<const CallContext*>(&context);
  if (call == nullptr || !call->revoked) return absl::OkStatus();
  return absl::PermissionDeniedError("this certificate may no longer make the call");
}

// PermissionDenied, with what to configure, unless the peer may be a child aggregator; OK where TLS is off.
// For services, before they believe a call whose update sums up those of other nodes. If the name loses that
// role later, the call is ended.
inline absl::Status AdmitChild(grpc::CallbackServerContext& context) {
  auto* const call = dynamic_cast<CallContext*>(&context);
  if (call == nullptr || call->access == nullptr) return absl::OkStatus();
  // First, so that a change of the policy in between is noticed here or there.
  call->speaks_for_others = true;
  return call->access->AdmitChild(call->caller);
}

// PermissionDenied unless the certificate is that of `node`; OK where TLS is off. For services, before they
// believe a call that says whose it is.
inline absl::Status AdmitAs(grpc::CallbackServerContext& context, std::string_view node) {
  auto* const call = dynamic_cast<CallContext*>(&context);
  if (call == nullptr || call->access == nullptr) return absl::OkStatus();
  return call->access->AdmitAs(node, call->caller);
}

}  // namespace tributary::access
