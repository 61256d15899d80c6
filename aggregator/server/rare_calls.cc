#include "aggregator/server/rare_calls.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <string>
#include <utility>

#include "aggregator/access/access_control.h"
#include "aggregator/server/counted_call.h"
#include "aggregator/server/reflection_call.h"
#include "core/runtime/thread_rank.h"
#include "core/wire/peer.h"

namespace tributary::server {
namespace {

// One call with one request: waits on the queue for it to begin and to be complete, and answers it. Deletes
// itself after its last completion.
template <class Service, class Request, class Response>
class OneCall {
 public:
  // On the thread of the rare calls.
  using Handler = std::function<grpc::Status(const grpc::ServerContext&, const Request&, Response&)>;

  // The service outlives the call.
  static void Listen(RareCalls& calls, Service& service, Handler handler) {
    auto* call = new OneCall(calls, service, std::move(handler));
    service.Ask(&call->context_, &call->stream_, calls.queue(), &call->started_);
  }

 private:
  OneCall(RareCalls& calls, Service& service, Handler handler)
      : calls_(calls), service_(service), handler_(std::move(handler)) {}

  void OnStarted(bool ok) {
    // Otherwise the server is shutting down.
    if (!ok || !calls_.IfOpen([this] { Listen(calls_, service_, handler_); })) {
      delete this;
      return;
    }
    const std::string name = wire::PeerCertificateName(*context_.auth_context()).value_or("");
    counted_.emplace(calls_.connections(), context_.peer(), name).CountAsRare();
    if (!calls_.IfOpen([this] { stream_.Read(&request_, &read_); })) delete this;
  }

  void OnRead(bool ok) {
    if (!ok) {
      if (request_.refused) counted_->CountAsMalformed();
      const grpc::Status missing(grpc::StatusCode::INVALID_ARGUMENT,
                                 "the request is missing or too large, or does not parse");
      if (!calls_.IfOpen([&] { stream_.Finish(missing, &finished_); })) delete this;
      return;
    }
    counted_->CountMessage();
    if (!calls_.Post([this] { Answer(); })) delete this;
  }

  void Answer() {
    Response response;
    const grpc::Status status = handler_(context_, request_.message, response);
    if (status.ok()) {
      stream_.WriteAndFinish(response, grpc::WriteOptions(), status, &finished_);
    } else {
      stream_.Finish(status, &finished_);
    }
  }

  RareCalls& calls_;
  Service& service_;
  const Handler handler_;
  std::optional<CountedCall> counted_;
  grpc::ServerContext context_;
  BoundedRequest<Request> request_;
  typename Service::Stream stream_{&context_};
  Completion started_ = [this](bool ok) { OnStarted(ok); };
  Completion read_ = [this](bool ok) { OnRead(ok); };
  Completion finished_ = [this](bool) { delete this; };
};

}  // namespace

RareCalls::RareCalls(const publish::AggregatorState& state, ConnectionTable& connections,
                     const std::atomic<bool>& serving)
    : state_(state),
      connections_(connections),
      serving_(serving),
      thread_(std::make_unique<boost::asio::thread_pool>(1)) {
  boost::asio::post(*thread_, [] { runtime::EnterThread("rare calls", runtime::ThreadRank::kBackground); });
}

RareCalls::~RareCalls() = default;

void RareCalls::Register(grpc::ServerBuilder& builder) {
  builder.RegisterService(&fleet_);
  builder.RegisterService(&health_);
  builder.RegisterService(&reflection_);
}

void RareCalls::Listen(grpc::ServerCompletionQueue& queue) {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  queue_ = &queue;
  OneCall<FleetOnQueue, v1::ListNodesRequest, v1::ListNodesResponse>::Listen(
      *this, fleet_, [this](const auto& context, const auto& request, auto& response) {
        return ListNodes(context, request, response);
      });
  OneCall<HealthOnQueue, HealthCheckRequest, HealthCheckResponse>::Listen(
      *this, health_, [this](const auto& context, const auto& request, auto& response) {
        return Check(context, request, response);
      });
  ReflectionCall::Listen(*this);
}

void RareCalls::Close() {
  {
    const runtime::MutexLock lock(mutex_);
    closed_ = true;
  }
  thread_->join();
}

bool RareCalls::Post(std::function<void()> answer) {
  return IfOpen([&] { boost::asio::post(*thread_, std::move(answer)); });
}

void RareCalls::FollowPolicy() {
  const runtime::MutexLock lock(mutex_);
  for (ReflectionCall* call : reflections_) Judge(*call);
}

void RareCalls::Judge(ReflectionCall& call) const {
  if (state_.access == nullptr || call.identity().name.empty()) return;
  if (state_.access->CheckCall(access::kReflectionPath, call.identity()).ok()) return;
  state_.access->CountRevoked();
  call.Cut();
}

void RareCalls::Add(ReflectionCall* call) {
  const runtime::MutexLock lock(mutex_);
  reflections_.push_back(call);
  Judge(*call);  // the policy may have changed since the call was admitted
  if (reflections_.size() <= kMaxReflections) return;
  reflections_.front()->Cut();
  reflections_.pop_front();
  ++ended_reflections_;
}

void RareCalls::Remove(ReflectionCall* call) {
  const runtime::MutexLock lock(mutex_);
  reflections_.remove(call);
}

// The nodes that report and those that learn.
grpc::Status RareCalls::ListNodes(const grpc::ServerContext& context, const v1::ListNodesRequest& request,
                                  v1::ListNodesResponse& response) const {
  absl::StatusOr<v1::ListNodesResponse> nodes =
      publish::ListNodes(state_, request, OnlyNodeFor(*context.auth_context()));
  if (!nodes.ok()) return wire::ToGrpcStatus(nodes.status());
  response = *std::move(nodes);
  return grpc::Status::OK;
}

// A node that is no viewer is told of itself only.
std::optional<std::string> RareCalls::OnlyNodeFor(const grpc::AuthContext& peer) const {
  std::optional<std::string> name = wire::PeerCertificateName(peer);
  if (state_.access == nullptr || !name) return std::nullopt;
  if (state_.access->policy()->RolesOf(*name).Has(access::Role::kViewer)) return std::nullopt;
  return name;
}

// gRPC's health checking protocol. Knows the process ("") and the project's two services.
grpc::Status RareCalls::Check(const grpc::ServerContext&, const grpc::health::v1::HealthCheckRequest& request,
                              grpc::health::v1::HealthCheckResponse& response) const {
  const std::string& name = request.service();
  if (!name.empty() && name != v1::FusionService::service_full_name() &&
      name != v1::FleetService::service_full_name()) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "service: unknown");
  }
  response.set_status(serving_ ? grpc::health::v1::HealthCheckResponse::SERVING
                               : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  return grpc::Status::OK;
}

}  // namespace tributary::server
