#include "aggregator/learning/service/federation_service.h"

#include "core/link/grpc_call.h"
#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/model_call.h"
#include "aggregator/learning/service/participate_call.h"
#include "aggregator/learning/service/peer_check.h"
#include "aggregator/learning/service/submit_call.h"

namespace tributary {
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

}  // namespace

grpc::ServerWriteReactor<v1::ParticipateResponse>* FederationService::Participate(
    grpc::CallbackServerContext* context, const v1::ParticipateRequest* request) {
  if (absl::Status status = CheckPeer(*context->auth_context(), request->node()); !status.ok()) {
    return ParticipateCall::Refuse(coordinator_, ToGrpcStatus(status));
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
  absl::StatusOr<Coordinator::Declined> declined = DeclineFromWire(*request);
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
  auto* reactor = context->DefaultReactor();
  absl::StatusOr<MaskingKeys> keys = KeysFromWire(*request);
  absl::Status status = CheckPeer(*context->auth_context(), request->node());
  if (status.ok()) status = keys.status();
  if (!status.ok()) {
    Answer(reactor, response, status);
  } else {
    coordinator_.TakeKeys(request->run(), request->round(), *std::move(keys), AnswerWith(reactor, response));
  }
  return reactor;
}

grpc::ServerUnaryReactor* FederationService::ShareKeys(grpc::CallbackServerContext* context,
                                                       const v1::ShareKeysRequest* request,
                                                       v1::ShareKeysResponse* response) {
  auto* reactor = context->DefaultReactor();
  absl::StatusOr<std::vector<SealedShare>> shares = SharesFromWire(*request);
  absl::Status status = CheckPeer(*context->auth_context(), request->node());
  if (status.ok()) status = shares.status();
  if (!status.ok()) {
    Answer(reactor, response, status);
  } else {
    coordinator_.TakeShares(request->run(), request->round(), request->node(), *std::move(shares),
                            AnswerWith(reactor, response));
  }
  return reactor;
}

grpc::ServerUnaryReactor* FederationService::Unmask(grpc::CallbackServerContext* context,
                                                    const v1::UnmaskRequest* request,
                                                    v1::UnmaskResponse* response) {
  auto* reactor = context->DefaultReactor();
  absl::StatusOr<RevealedShares> shares = RevealedFromWire(*request);
  absl::Status status = CheckPeer(*context->auth_context(), request->node());
  if (status.ok()) status = shares.status();
  if (!status.ok()) {
    Answer(reactor, response, status);
  } else {
    coordinator_.TakeRevealed(request->run(), request->round(), *std::move(shares),
                              AnswerWith(reactor, response));
  }
  return reactor;
}

}  // namespace tributary
