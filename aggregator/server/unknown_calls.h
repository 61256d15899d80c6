// Calls of paths that nobody serves, where no gate refuses them.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <cstdint>

#include "aggregator/server/connection_table.h"

namespace tributary::server {

// Without it gRPC answers them itself, on the thread that fuses, and they count for no connection. Any
// thread.
class UnknownCalls final : public grpc::CallbackGenericService {
 public:
  // It outlives the calls.
  explicit UnknownCalls(ConnectionTable& connections) : connections_(connections) {}

  std::uint64_t count() const { return count_; }

 private:
  class Refusal;

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

  ConnectionTable& connections_;
  std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace tributary::server
