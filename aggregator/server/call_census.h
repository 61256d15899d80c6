// Counts the calls of each connection, for all services of the server.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include "aggregator/server/connection_table.h"

namespace tributary::server {

// gRPC ends a call that its peer resets some time after the reset. Meanwhile the peer may open the next one:
// a hundred thousand in ten seconds, of 13 kB each. This cuts the connection of such a peer. The table
// outlives it. The Report and Watch streams count themselves: an interceptor costs each of their messages.
class CallCensus final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallCensus(ConnectionTable& connections) : connections_(connections) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override;

 private:
  ConnectionTable& connections_;
};

// A call that is not over.
class CountedCall {
 public:
  // `peer`: as gRPC names it.
  CountedCall(ConnectionTable& connections, const std::string& peer);
  ~CountedCall();
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  const std::string& peer() const { return peer_; }

 private:
  ConnectionTable& connections_;
  const std::string peer_;
};

}  // namespace tributary::server
