#include "aggregator/server/rare_queue.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "aggregator/access/access_control.h"
#include "aggregator/server/reflection_call.h"
#include "core/wire/peer.h"

namespace tributary::server {
namespace {

// What a rare call waits at most before it is looked at.
constexpr std::chrono::milliseconds kPause{10};

// One unary call: waits on the queue for a request, answers it at once. Deletes itself after its last
// completion.
template <class Service, class Request, class Response>
class UnaryCall {
 public:
  using Ask = void (Service::*)(grpc::ServerContext*, Request*, grpc::ServerAsyncResponseWriter<Response>*,
                                grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);
  using Handler = std::function<grpc::Status(const grpc::ServerContext&, const Request&, Response&)>;

  // The queue and the service outlive the call.
  static void Listen(Service& service, Ask ask, grpc::ServerCompletionQueue& queue, Handler handler) {
    auto* call = new UnaryCall(service, ask, queue, std::move(handler));
    (service.*ask)(&call->context_, &call->request_, &call->writer_, &queue, &queue, &call->started_);
  }

 private:
  UnaryCall(Service& service, Ask ask, grpc::ServerCompletionQueue& queue, Handler handler)
      : service_(service), ask_(ask), queue_(queue), handler_(std::move(handler)) {}

  void OnStarted(bool ok) {
    if (!ok) {
      delete this;  // the server is shutting down
      return;
    }
    Listen(service_, ask_, queue_, handler_);
    Response response;
    const grpc::Status status = handler_(context_, request_, response);
    writer_.Finish(response, status, &finished_);
  }

  Service& service_;
  const Ask ask_;
  grpc::ServerCompletionQueue& queue_;
  const Handler handler_;
  grpc::ServerContext context_;
  Request request_;
  grpc::ServerAsyncResponseWriter<Response> writer_{&context_};
  Completion started_ = [this](bool ok) { OnStarted(ok); };
  Completion finished_ = [this](bool) { delete this; };
};

}  // namespace

RareQueue::RareQueue(const publish::AggregatorState& state, const std::atomic<bool>& serving)
    : state_(state), serving_(serving) {}

RareQueue::~RareQueue() = default;

void RareQueue::Register(grpc::ServerBuilder& builder) {
  builder.RegisterService(&fleet_);
  builder.RegisterService(&health_);
  builder.RegisterService(&reflection_);
  constexpr bool kFrequentlyPolled = false;
  queue_ = builder.AddCompletionQueue(kFrequentlyPolled);
}

void RareQueue::Run() {
  using grpc::health::v1::Health;
  using v1::FleetService;
  UnaryCall<FleetService::AsyncService, v1::ListNodesRequest, v1::ListNodesResponse>::Listen(
      fleet_, &FleetService::AsyncService::RequestListNodes, *queue_,
      [this](const auto& context, const auto& request, auto& response) {
        return ListNodes(context, request, response);
      });
  UnaryCall<Health::AsyncService, grpc::health::v1::HealthCheckRequest,
            grpc::health::v1::HealthCheckResponse>::Listen(health_, &Health::AsyncService::RequestCheck,
                                                           *queue_,
                                                           [this](const auto& context, const auto& request,
                                                                  auto& response) {
                                                             return Check(context, request, response);
                                                           });
  ReflectionCall::Listen(*this);
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    switch (queue_->AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC))) {
      case grpc::CompletionQueue::GOT_EVENT:
        (*static_cast<Completion*>(tag))(ok);
        break;
      case grpc::CompletionQueue::TIMEOUT:
        // Sleeps instead of waiting in gRPC, where the threads that wait take turns to poll for all: the
        // events of the hot path would go from thread to thread, for three times its processor time.
        std::this_thread::sleep_for(kPause);
        break;
      case grpc::CompletionQueue::SHUTDOWN:
        return;
    }
  }
}

void RareQueue::Discard() {
  if (queue_ == nullptr) return;
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
}

void RareQueue::Add(ReflectionCall* call) {
  reflections_.push_back(call);
  if (reflections_.size() > kMaxReflections) reflections_.front()->Cut();
}

// The nodes that report and those that learn.
grpc::Status RareQueue::ListNodes(const grpc::ServerContext& context, const v1::ListNodesRequest& request,
                                  v1::ListNodesResponse& response) const {
  absl::StatusOr<v1::ListNodesResponse> nodes =
      publish::ListNodes(state_, request, OnlyNodeFor(*context.auth_context()));
  if (nodes.ok()) response = *std::move(nodes);
  return wire::ToGrpcStatus(nodes.status());
}

// A node that is no viewer is told of itself only.
std::optional<std::string> RareQueue::OnlyNodeFor(const grpc::AuthContext& peer) const {
  std::optional<std::string> name = wire::PeerCertificateName(peer);
  if (state_.access == nullptr || !name) return std::nullopt;
  if (state_.access->policy()->RolesOf(*name).Has(access::Role::kViewer)) return std::nullopt;
  return name;
}

// gRPC's health checking protocol. Knows the process ("") and the project's two services.
grpc::Status RareQueue::Check(const grpc::ServerContext&, const grpc::health::v1::HealthCheckRequest& request,
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
