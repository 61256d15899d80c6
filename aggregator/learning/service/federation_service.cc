#include "aggregator/learning/service/federation_service.h"

#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/model_call.h"
#include "aggregator/learning/service/participate_call.h"
#include "aggregator/learning/service/peer_check.h"
#include "aggregator/learning/service/submit_call.h"
#include "core/link/grpc_call.h"

namespace tributary::learning {
namespace {

// A refusal is an answer, not an error of the call.
template <class Response>
void Answer(grpc::ServerUnaryReactor* reactor, Response* response, const absl::Status& status) {
  response->set_accepted(status.ok());
  response->set_message(std::string(status.message()));
  reactor->Finish(grpc::Status::OK);
}

template <class Response>
Coordinator::Done<absl::Status> AnswerWith(grpc::ServerUnaryReactor* reactor, Response* response) {
  return [reactor, response](const absl::Status& status) { Answer(reactor, response, status); };
}

// Has the coordinator take what a node says of its step.
template <class Request, class Response>
grpc::ServerUnaryReactor* TakeStep(Coordinator& coordinator, grpc::CallbackServerContext& context,
                                   const Request& request, Response* response) {
  auto* reactor = context.DefaultReactor();
  absl::Status status = CheckPeer(*context.auth_context(), request.node());
  absl::StatusOr<MaskingMessage> message = StepFromWire(request);
  if (status.ok()) status = message.status();
  if (!status.ok()) {
    Answer(reactor, response, status);
  } else {
    coordinator.Take(request.run(), *std::move(message), AnswerWith(reactor, response));
  }
  return reactor;
}

}  // namespace

grpc::ServerWriteReactor<v1::ParticipateResponse>* FederationService::Participate(
    grpc::CallbackServerContext* context, const v1::ParticipateRequest* request) {
  if (absl::Status status = CheckPeer(*context->auth_context(), request->node()); !status.ok()) {
    return ParticipateCall::Refuse(coordinator_, link::ToGrpcStatus(status));
  }
  return ParticipateCall::Start(coordinator_, *request);
}

grpc::ServerWriteReactor<v1::FetchModelResponse>* FederationService::FetchModel(
    grpc::CallbackServerContext* context, const v1::FetchModelRequest* request) {
  const auto call = ModelCall<v1::FetchModelResponse>::Make(
      *context, request->run(), request->offset(),
      [](const OpenModel& model, const std::string&, v1::FetchModelResponse& response) {
        response.set_file_bytes(model.record.file.bytes);
        response.set_sha256(model.record.sha256);
      });
  if (absl::Status status = CheckPeer(*context->auth_context(), request->node()); !status.ok()) {
    call->Opened(status);
  } else {
    coordinator_.OpenRoundModel(request->run(), request->round(),
                                [call](absl::StatusOr<OpenModel> model) { call->Opened(std::move(model)); });
  }
  return call.get();
}

grpc::ServerReadReactor<v1::SubmitUpdateRequest>* FederationService::SubmitUpdate(
    grpc::CallbackServerContext* context, v1::SubmitUpdateResponse* response) {
  return SubmitCall::Start(coordinator_, *context, response);
}

grpc::ServerUnaryReactor* FederationService::DeclineTask(grpc::CallbackServerContext* context,
                                                         const v1::DeclineTaskRequest* request,
                                                         v1::DeclineTaskResponse* response) {
  auto* reactor = context->DefaultReactor();
  absl::StatusOr<Coordinator::DeclineCall> declined = DeclineFromWire(*request);
  absl::Status status = CheckPeer(*context->auth_context(), request->node());
  if (status.ok()) status = declined.status();
  if (!status.ok()) {
    Answer(reactor, response, status);
  } else {
    coordinator_.Decline(request->run(), *std::move(declined), AnswerWith(reactor, response));
  }
  return reactor;
}

grpc::ServerUnaryReactor* FederationService::AdvertiseKeys(grpc::CallbackServerContext* context,
                                                           const v1::AdvertiseKeysRequest* request,
                                                           v1::AdvertiseKeysResponse* response) {
  return TakeStep(coordinator_, *context, *request, response);
}

grpc::ServerUnaryReactor* FederationService::ShareKeys(grpc::CallbackServerContext* context,
                                                       const v1::ShareKeysRequest* request,
                                                       v1::ShareKeysResponse* response) {
  return TakeStep(coordinator_, *context, *request, response);
}

grpc::ServerUnaryReactor* FederationService::Unmask(grpc::CallbackServerContext* context,
                                                    const v1::UnmaskRequest* request,
                                                    v1::UnmaskResponse* response) {
  return TakeStep(coordinator_, *context, *request, response);
}

}  // namespace tributary::learning
