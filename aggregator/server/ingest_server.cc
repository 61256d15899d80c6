#include "aggregator/server/ingest_server.h"

#include <fmt/format.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/wire/peer.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::server {
namespace {

constexpr std::chrono::milliseconds kDrainLimit{2000};
// Cut connections of peers that do not react to the GOAWAY.
constexpr std::chrono::milliseconds kCloseLimit{100};
constexpr int kKeepaliveMs = 10'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
// Nodes ping every two seconds (core/link/channel.cc).
constexpr int kMinPingIntervalMs = 1'000;
// A process has one Report stream per site and a few watchers.
constexpr int kStreamsPerConnection = 128;
// A process that simulates many nodes has one Participate stream for each.
constexpr int kStreamsPerConnectionWithServices = 1024;
// A chunk of 1 MiB and its message's other fields.
constexpr std::size_t kMaxChunkMessage = (std::size_t{1} << 20) + 4096;

// The nodes that report and those that learn. Uses the sync API: its threads wait on a condition, so that
// only the ingest thread polls. The callback API would poll with threads of its own and hand the hot path's
// events from thread to thread.
class FleetService final : public v1::FleetService::Service {
 public:
  explicit FleetService(const publish::AggregatorState& state) : state_(state) {}

  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest* request,
                         v1::ListNodesResponse* response) override {
    absl::StatusOr<v1::ListNodesResponse> nodes = publish::ListNodes(state_, request->site());
    if (!nodes.ok()) return wire::ToGrpcStatus(nodes.status());
    *response = *std::move(nodes);
    KeepOwn(*context->auth_context(), *response);
    return grpc::Status::OK;
  }

 private:
  // A node that is no viewer is told of itself only.
  void KeepOwn(const grpc::AuthContext& peer, v1::ListNodesResponse& response) const {
    const std::optional<std::string> name = wire::PeerCertificateName(peer);
    if (state_.access == nullptr || !name) return;
    if (state_.access->policy()->RolesOf(*name).Has(access::Role::kViewer)) return;
    auto& nodes = *response.mutable_nodes();
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&name](const v1::Node& node) { return node.name() != *name; }),
                nodes.end());
  }

  const publish::AggregatorState& state_;
};

// gRPC's health checking protocol. Knows the process ("") and the project's two services.
class HealthService final : public grpc::health::v1::Health::Service {
 public:
  explicit HealthService(const std::atomic<bool>& serving) : serving_(serving) {}

  grpc::Status Check(grpc::ServerContext*, const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override {
    const std::string& name = request->service();
    if (!name.empty() && name != v1::FusionService::service_full_name() &&
        name != v1::FleetService::service_full_name()) {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "service: unknown");
    }
    response->set_status(serving_ ? grpc::health::v1::HealthCheckResponse::SERVING
                                  : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
    return grpc::Status::OK;
  }

 private:
  const std::atomic<bool>& serving_;
};

std::shared_ptr<grpc::ServerCredentials> Credentials(const std::optional<config::TlsMaterial>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->ca_pem;
  options.pem_key_cert_pairs.push_back({tls->key_pem, tls->certificate_pem});
  return grpc::SslServerCredentials(options);
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
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             services ? kStreamsPerConnectionWithServices : kStreamsPerConnection);
  // Detects peers that vanished; lets them check the aggregator.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // gRPC's bandwidth pings wake both sides for nothing: set the windows instead.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 20);
  // Few threads for the rare calls; they wait on a condition (FleetService).
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  grpc::ResourceQuota quota("tributary");
  quota.SetMaxThreads(16);
  builder.SetResourceQuota(quota);
}

}  // namespace

IngestServer::IngestServer(const IngestOptions& options, publish::AggregatorState& state)
    : context_{.state = state,
               .max_message_bytes = options.max_message_bytes,
               .readers = publish::ReaderShare(options.threads)} {
  rare_.push_back(std::make_unique<FleetService>(state));
  rare_.push_back(std::make_unique<HealthService>(serving_));
}

absl::StatusOr<std::unique_ptr<IngestServer>> IngestServer::Start(const IngestOptions& options,
                                                                  publish::AggregatorState& state) {
  auto server = std::unique_ptr<IngestServer>(new IngestServer(options, state));
  static const bool reflection = (grpc::reflection::InitProtoReflectionServerBuilderPlugin(), true);
  (void)reflection;
  grpc::ServerBuilder builder;
  Tune(builder, options);
  const std::shared_ptr<grpc::ServerCredentials> credentials = Credentials(options.tls);
  if (options.tls && state.access != nullptr) {
    server->gate_ = std::make_unique<access::CallGate>(*state.access);
    server->gate_->Guard(*credentials, builder);
  }
  builder.AddListeningPort(options.listen, credentials, &server->port_);
  builder.RegisterService(&server->fusion_);
  for (const auto& service : server->rare_) builder.RegisterService(service.get());
  for (const auto& service : options.services) builder.RegisterService(service.get());
  for (std::size_t i = 0; i < options.threads; ++i) {
    server->queues_.push_back(
        std::make_unique<IngestQueue>(server->context_, server->fusion_, builder.AddCompletionQueue()));
  }
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || server->port_ == 0) {
    for (const auto& queue : server->queues_) queue->Discard();
    return absl::UnavailableError(
        fmt::format("{}: cannot listen there; is the port in use?", options.listen));
  }
  for (const auto& queue : server->queues_) {
    server->threads_.emplace_back([&queue = *queue] {
      prctl(PR_SET_NAME, "ingest");
      queue.Run();
    });
  }
  server->serving_ = true;
  return server;
}

void IngestServer::FollowPolicy() {
  if (gate_ != nullptr) gate_->Recheck();
}

void IngestServer::Collect(runtime::Reading& reading) const {
  for (std::size_t i = 0; i < kStreamFaults; ++i) {
    reading.Counter("tributary_streams_refused_total", "Report streams ended by the aggregator, by reason.",
                    {{"reason", std::string(StreamFaultName(static_cast<StreamFault>(i)))}},
                    context_.refusals[i].load());
  }
  reading.Counter("tributary_watch_skipped_slots_total",
                  "Slots not sent to watchers because of their rate limit, their speed or their share.", {},
                  context_.skipped_slots.load());
  reading.Gauge("tributary_watch_streams", "Open Watch streams.", {},
                static_cast<double>(context_.readers.readers()));
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
  // First for the watchers, who are about to leave; again below for slots in between.
  FuseWhatWaits();
  for (const auto& queue : queues_) queue->Stop();
  for (const auto& queue : queues_) queue->WaitUntilEnded(kDrainLimit);
  server_->Shutdown(std::chrono::system_clock::now() + kCloseLimit);
  for (const auto& queue : queues_) queue->Close();
  threads_.clear();
  FuseWhatWaits();
}

}  // namespace tributary::server
