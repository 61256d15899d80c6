#include "aggregator/server/ingest_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "aggregator/access/call_gate.h"
#include "aggregator/server/callback_threads.h"
#include "aggregator/server/live_credentials.h"
#include "core/runtime/log.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"

namespace tributary::server {
namespace {

constexpr std::chrono::milliseconds kDrainLimit{2000};
// Cut connections of peers that do not react to the GOAWAY.
constexpr std::chrono::milliseconds kCloseLimit{100};
constexpr int kKeepaliveMs = 10'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
// TLS and the first frames of HTTP/2. A connection without a call for so long is closed.
constexpr int kHandshakeTimeoutMs = 10'000;
constexpr int kIdleTimeoutMs = 300'000;
// The metadata of one call, names and values. Our clients send some hundred bytes.
constexpr int kMaxMetadataBytes = 8192;
// Nodes ping every two seconds (core/link/channel.cc).
constexpr int kMinPingIntervalMs = 1'000;
// A process has one Report stream per site, a few watchers, or a stream of tasks and some uploads. gRPC ends
// a connection that opens more streams, once its peer has confirmed the settings; ConnectionLimits bound the
// calls of those that never do.
constexpr int kStreamsPerConnection = 128;
// What gRPC takes from a socket at a time. It parses all of it even if the connection is cut meanwhile, and
// parsing can be slow (ReadCost).
constexpr int kMaxReadBytes = 16 << 10;
// A chunk of 1 MiB and its message's other fields.
constexpr std::size_t kMaxChunkMessage = (std::size_t{1} << 20) + 4096;

std::shared_ptr<grpc::ServerCredentials> Credentials(const config::TlsSource& tls,
                                                     access::AccessControl* access,
                                                     ConnectionTable& connections) {
  if (tls == nullptr) return grpc::InsecureServerCredentials();
  if (access == nullptr) return LiveServerCredentials(tls, std::nullopt);
  const auto begun = [&connections](const std::string& name, bool admitted) {
    const std::int64_t second = FrontDoor::Second();
    for (const Socket& each :
         admitted ? connections.NoteAdmittedCall(name, second) : connections.NoteRefusedCall(name, second)) {
      FrontDoor::CutAndQuarantine(connections, each);
    }
  };
  return LiveServerCredentials(tls, access::GateOf(*access, begun));
}

void Tune(grpc::ServerBuilder& builder, const IngestOptions& options) {
  const bool services = !options.services.empty();
  const std::size_t message = std::max(options.max_message_bytes, services ? kMaxChunkMessage : 0);
  // A message somewhat above the limit is refused with a reason; gRPC refuses a much larger one.
  builder.SetMaxReceiveMessageSize(static_cast<int>(message * 2));
  // Two processes on one port would share the nodes at random.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // No compression: a compressed message could expand to any size.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  // Detects peers that vanished; lets them check the aggregator.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  // gRPC's bandwidth pings wake both sides for nothing: set the windows instead.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 20);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadBytes);
}

}  // namespace

IngestServer::IngestServer(const IngestOptions& options, publish::AggregatorState& state,
                           std::unique_ptr<FrontDoor> door)
    : door_(std::move(door)),
      context_{.state = state,
               .connections = door_->connections(),
               .max_message_bytes = options.max_message_bytes,
               .one_queue = options.threads == 1,
               .readers = publish::ReaderShare(options.threads)},
      rare_(state, door_->connections(), serving_),
      open_(door_->connections(), options.tls == nullptr ? nullptr : state.access),
      unknown_(door_->connections()) {}

absl::StatusOr<std::unique_ptr<IngestServer>> IngestServer::Start(const IngestOptions& options,
                                                                  publish::AggregatorState& state) {
  ConnectionLimits connections = options.connections;
  if (options.tls == nullptr) connections.WithoutHandshakes();
  ASSIGN_OR_RETURN(
      std::unique_ptr<FrontDoor> door,
      FrontDoor::Listen(options.listen, connections, MemoryWatch(options.memory_bytes), state.clock));
  auto server = std::unique_ptr<IngestServer>(new IngestServer(options, state, std::move(door)));
  grpc::ServerBuilder builder;
  Tune(builder, options);
  server->credentials_ = Credentials(options.tls, state.access, server->door_->connections());
  server->open_.Follow(builder);
  server->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, server->credentials_);
  builder.RegisterService(&server->fusion_);
  server->rare_.Register(builder);
  builder.RegisterCallbackGenericService(&server->unknown_);
  for (grpc::Service* const service : options.services) builder.RegisterService(service);
  for (std::size_t i = 0; i < options.threads; ++i) {
    server->queues_.push_back(
        std::make_unique<IngestQueue>(server->context_, server->fusion_, builder.AddCompletionQueue()));
  }
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    for (const auto& queue : server->queues_) queue->Discard();
    return absl::UnavailableError(fmt::format("{}: gRPC does not start", options.listen));
  }
  if (!CallbackThreadsRun()) {
    runtime::LogWarning("gRPC runs callbacks on threads of its own: learning slows fusion down");
  }
  server->rare_.Listen(*server->queues_.front()->queue());
  for (const auto& queue : server->queues_) {
    server->threads_.emplace_back([&queue = *queue] {
      runtime::EnterThread("ingest", runtime::ThreadRank::kFusion);
      queue.Run();
    });
  }
  server->serving_ = true;
  const auto hand_over = [&acceptor = *server->acceptor_](int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd;
    acceptor.HandleNewConnection(&connection);
  };
  const auto progress = [&queues = server->queues_] {
    std::vector<std::int64_t> used_ns;
    for (const auto& queue : queues) used_ns.push_back(queue->used_ns());
    return used_ns;
  };
  server->door_->Open(hand_over, progress);
  return server;
}

void IngestServer::FollowPolicy() {
  open_.Recheck();
  rare_.FollowPolicy();
}

void IngestServer::Collect(runtime::Reading& reading) const {
  const ConnectionTable::Figures figures = door_->connections().figures();
  reading.Gauge("tributary_connections", "Open connections of the gRPC port.", {}, figures.connections);
  reading.Gauge("tributary_connections_silent", "Connections that have made no call yet.", {},
                figures.silent);
  reading.Gauge("tributary_calls", "Calls of the gRPC port that are not over.", {}, figures.calls);
  reading.Reasons("tributary_connections_refused_total",
                  "Connections of the gRPC port that were refused or cut, by reason.", {}, figures.refused,
                  ConnectionFaultName);
  reading.Counter("tributary_connections_held_back_total",
                  "Times that a connection waited to be read, so that panels and watchers do not.", {},
                  door_->held_back());
  reading.Reasons("tributary_handshakes_failed_total", "TLS handshakes of the gRPC port that failed.", {},
                  handshakes_, HandshakeFaultName);
  reading.Reasons("tributary_streams_refused_total", "Report streams ended by the aggregator, by reason.", {},
                  context_.refusals, StreamFaultName);
  reading.Counter("tributary_calls_unknown_total",
                  "Calls that nobody serves. With TLS the gate refuses most of them first.", {},
                  unknown_.count());
  reading.Counter("tributary_reflection_streams_ended_total",
                  "Reflection streams ended in favour of newer ones.", {}, rare_.ended_reflections());
  reading.Counter("tributary_watch_skipped_slots_total",
                  "Slots not sent to watchers because of their rate limit, their speed or their share.", {},
                  context_.skipped_slots.load());
  reading.Gauge("tributary_watch_streams", "Open Watch streams.", {}, context_.readers.readers());
}

IngestServer::~IngestServer() {
  if (serving_) Shutdown();
}

void IngestServer::FuseWhatWaits() {
  fusion::FusedSlots fused;
  for (const auto& site : context_.state.sites.all()) {
    fused.Clear();
    site->engine().Drain(context_.Now(), fused);
    site->Publish(fused);
  }
}

void IngestServer::Shutdown() {
  serving_ = false;
  door_->Close();
  // First for the watchers, who are about to leave; again below for slots in between.
  FuseWhatWaits();
  for (const auto& queue : queues_) queue->Stop();
  for (const auto& queue : queues_) queue->WaitUntilEnded(kDrainLimit);
  server_->Shutdown(std::chrono::system_clock::now() + kCloseLimit);
  rare_.Close();
  for (const auto& queue : queues_) queue->Close();
  threads_.clear();
  FuseWhatWaits();
}

}  // namespace tributary::server
