// The open calls of the services of gRPC's callback API.
#pragma once

#include <grpcpp/grpcpp.h>

#include <list>
#include <memory>
#include <optional>

#include "aggregator/access/access_control.h"
#include "aggregator/access/call_context.h"
#include "aggregator/server/counted_call.h"
#include "core/runtime/mutex.h"

namespace tributary::server {

// Counts each call for its connection and ends those whose peer has lost its role or its certificate,
// so that no service can forget either. The calls on completion queues do both themselves.
//
// gRPC makes and releases the context of a call here. An interceptor would see a call's end too, but costs
// each of its messages a second completion. Thread-safe.
class OpenCalls {
 public:
  // `access`: null without TLS. Both outlive it; it outlives the server.
  OpenCalls(ConnectionTable& connections, access::AccessControl* access);
  ~OpenCalls();

  // Call before the server is built.
  void Follow(grpc::ServerBuilder& builder);
  // Cancels the calls that the policy and the list in force do not admit. Not on a thread of gRPC's.
  void Recheck();

 private:
  class Contexts;
  class Beginnings;

  struct Call final : access::CallContext {
    std::list<std::unique_ptr<Call>>::iterator place;
    std::optional<CountedCall> counted;
    // Null unless it is judged again when the policy or the list changes.
    const char* path = nullptr;

    void CountMessage() override {
      if (counted) counted->CountMessage();
    }
    void CountTold(std::size_t bytes) override {
      if (counted) counted->CountTold(bytes);
    }
    void CountMalformed() override {
      if (counted) counted->CountAsMalformed();
    }
  };

  grpc::CallbackServerContext* Make();
  void Begin(Call& call, const grpc::experimental::ServerRpcInfo& info);
  void Release(Call& call);
  void Judge(Call& call) REQUIRES(mutex_);

  ConnectionTable& connections_;
  access::AccessControl* const access_;
  runtime::Mutex mutex_;
  std::list<std::unique_ptr<Call>> calls_ GUARDED_BY(mutex_);
};

}  // namespace tributary::server
