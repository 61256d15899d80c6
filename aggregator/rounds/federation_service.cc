#include "aggregator/rounds/federation_service.h"

#include "aggregator/ingest/wire.h"
#include "aggregator/rounds/model_call.h"
#include "aggregator/rounds/participate_call.h"
#include "aggregator/rounds/peer_check.h"
#include "aggregator/rounds/submit_call.h"

namespace tributary {

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
      request->run(), request->offset(),
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

}  // namespace tributary
