// FederationService: what nodes call.
#pragma once

#include <grpcpp/grpcpp.h>

#include "aggregator/learning/service/coordinator.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary::learning {

// The callback API: hundreds of nodes keep a Participate stream open, none may hold a thread.
class FederationService final : public v1::FederationService::CallbackService {
 public:
  // Outlives the service.
  explicit FederationService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::ServerWriteReactor<v1::ParticipateResponse>* Participate(
      grpc::CallbackServerContext* context, const v1::ParticipateRequest* request) override;
  grpc::ServerWriteReactor<v1::FetchModelResponse>* FetchModel(grpc::CallbackServerContext* context,
                                                               const v1::FetchModelRequest* request) override;
  grpc::ServerReadReactor<v1::SubmitUpdateRequest>* SubmitUpdate(grpc::CallbackServerContext* context,
                                                                 v1::SubmitUpdateResponse* response) override;

  grpc::ServerUnaryReactor* DeclineTask(grpc::CallbackServerContext* context,
                                        const v1::DeclineTaskRequest* request,
                                        v1::DeclineTaskResponse* response) override;

  grpc::ServerUnaryReactor* AdvertiseKeys(grpc::CallbackServerContext* context,
                                          const v1::AdvertiseKeysRequest* request,
                                          v1::AdvertiseKeysResponse* response) override;
  grpc::ServerUnaryReactor* ShareKeys(grpc::CallbackServerContext* context,
                                      const v1::ShareKeysRequest* request,
                                      v1::ShareKeysResponse* response) override;
  grpc::ServerUnaryReactor* Unmask(grpc::CallbackServerContext* context, const v1::UnmaskRequest* request,
                                   v1::UnmaskResponse* response) override;

 private:
  Coordinator& coordinator_;
};

}  // namespace tributary::learning
