// RunService and ModelService: what operators call.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "aggregator/learning/service/coordinator.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::learning {

class Relay;

class RunService final : public v1::RunService::CallbackService {
 public:
  // Outlives the service. `patience`: how long WatchRun waits for the judgement of a run's last model.
  explicit RunService(Coordinator& coordinator, std::chrono::seconds patience = std::chrono::seconds(600))
      : coordinator_(coordinator), patience_(patience) {}

  // Before the server starts: ListRuns says how the aggregator stands with its parent. The relay outlives
  // every call.
  void SetRelay(const Relay* relay) { relay_ = relay; }

  grpc::ServerReadReactor<v1::StartRunRequest>* StartRun(grpc::CallbackServerContext* context,
                                                         v1::StartRunResponse* response) override;
  grpc::ServerUnaryReactor* ListRuns(grpc::CallbackServerContext* context, const v1::ListRunsRequest* request,
                                     v1::ListRunsResponse* response) override;
  grpc::ServerUnaryReactor* GetRun(grpc::CallbackServerContext* context, const v1::GetRunRequest* request,
                                   v1::GetRunResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchRunResponse>* WatchRun(grpc::CallbackServerContext* context,
                                                           const v1::WatchRunRequest* request) override;
  grpc::ServerUnaryReactor* PauseRun(grpc::CallbackServerContext* context, const v1::PauseRunRequest* request,
                                     v1::PauseRunResponse* response) override;
  grpc::ServerUnaryReactor* ResumeRun(grpc::CallbackServerContext* context,
                                      const v1::ResumeRunRequest* request,
                                      v1::ResumeRunResponse* response) override;
  grpc::ServerUnaryReactor* StopRun(grpc::CallbackServerContext* context, const v1::StopRunRequest* request,
                                    v1::StopRunResponse* response) override;

 private:
  Coordinator& coordinator_;
  const std::chrono::seconds patience_;
  const Relay* relay_ = nullptr;  // null: there is no parent
};

class ModelService final : public v1::ModelService::CallbackService {
 public:
  // Outlives the service.
  explicit ModelService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const v1::ListModelsRequest* request,
                                       v1::ListModelsResponse* response) override;
  grpc::ServerWriteReactor<v1::ReadModelResponse>* ReadModel(grpc::CallbackServerContext* context,
                                                             const v1::ReadModelRequest* request) override;
  grpc::ServerUnaryReactor* RollBackModel(grpc::CallbackServerContext* context,
                                          const v1::RollBackModelRequest* request,
                                          v1::RollBackModelResponse* response) override;

 private:
  Coordinator& coordinator_;
};

}  // namespace tributary::learning
