// The gRPC server: Report and Watch on completion queues, the rare calls beside them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/publish/aggregator_state.h"
#include "aggregator/server/connection_table.h"
#include "aggregator/server/front_door.h"
#include "aggregator/server/handshake_failures.h"
#include "aggregator/server/ingest_queue.h"
#include "aggregator/server/open_calls.h"
#include "aggregator/server/rare_calls.h"
#include "aggregator/server/unknown_calls.h"
#include "core/config/live_tls.h"
#include "core/runtime/memory_limit.h"
#include "core/runtime/metrics.h"

namespace tributary::server {

struct IngestOptions {
  std::string listen;     // "host:port"; port 0: any
  config::TlsSource tls;  // null: no TLS
  std::size_t threads = 1;
  std::size_t max_message_bytes = std::size_t{1} << 20;
  ConnectionLimits connections;
  // Services of other modules on the same port; they outlive the server. With any of them the server accepts
  // larger messages: models travel in chunks of 1 MiB.
  std::vector<grpc::Service*> services;
  std::uint64_t memory_bytes = runtime::MemoryLimit();  // that the process may have
};

class IngestServer {
 public:
  // The state outlives the server, which follows state.access if TLS is on. Unavailable: the address cannot
  // be bound.
  static absl::StatusOr<std::unique_ptr<IngestServer>> Start(const IngestOptions& options,
                                                             publish::AggregatorState& state);
  ~IngestServer();

  int port() const { return door_->port(); }
  bool serving() const { return serving_; }
  // Call after the policy or the list of state.access has changed: what it no longer admits is ended within a
  // second.
  void FollowPolicy();
  // The counts, as metrics.
  void Collect(runtime::Reading& reading) const;

  // Fuses what waits, sends the last acknowledgements and slots, and ends all streams. Cuts streams that do
  // not end within two seconds. Call once.
  void Shutdown();

 private:
  IngestServer(const IngestOptions& options, publish::AggregatorState& state,
               std::unique_ptr<FrontDoor> door);
  void FuseWhatWaits();

  // Outlives the calls, which it counts.
  const std::unique_ptr<FrontDoor> door_;
  const HandshakeCounts& handshakes_ = CountHandshakeFailures();
  IngestContext context_;
  std::atomic<bool> serving_ = false;
  FusionServiceOnQueue fusion_;
  RareCalls rare_;
  OpenCalls open_;
  UnknownCalls unknown_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<IngestQueue>> queues_;
  std::vector<std::jthread> threads_;
};

}  // namespace tributary::server
