#include "aggregator/learning/service/run_service.h"

#include <utility>

#include "aggregator/learning/service/model_call.h"
#include "aggregator/learning/service/run_message.h"
#include "aggregator/learning/service/start_run_call.h"
#include "aggregator/learning/service/watch_run_call.h"
#include "core/link/grpc_call.h"

namespace tributary::learning {
namespace {

// Answers once the change is in the store, with the run as it is then.
template <class Response>
grpc::ServerUnaryReactor* Change(Coordinator& coordinator, grpc::CallbackServerContext& context,
                                 const std::string& run, std::function<absl::Status(Run&)> change,
                                 Response* response) {
  auto* reactor = context.DefaultReactor();
  coordinator.Change(run, std::move(change),
                     [&coordinator, reactor, run, response](const absl::Status& status) {
                       const auto record = coordinator.board().Find(run);
                       if (status.ok() && record != nullptr) *response->mutable_run() = record->run;
                       reactor->Finish(link::ToGrpcStatus(status));
                     });
  return reactor;
}

template <class Response>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context, absl::StatusOr<Response> answer,
                                 Response* response) {
  auto* reactor = context.DefaultReactor();
  if (answer.ok()) *response = *std::move(answer);
  reactor->Finish(link::ToGrpcStatus(answer.status()));
  return reactor;
}

}  // namespace

grpc::ServerReadReactor<v1::StartRunRequest>* RunService::StartRun(grpc::CallbackServerContext* context,
                                                                   v1::StartRunResponse* response) {
  return StartRunCall::Start(coordinator_, *context, response);
}

grpc::ServerUnaryReactor* RunService::ListRuns(grpc::CallbackServerContext* context,
                                               const v1::ListRunsRequest*, v1::ListRunsResponse* response) {
  return Answer<v1::ListRunsResponse>(*context, learning::ListRuns(coordinator_.board(), relay_), response);
}

grpc::ServerUnaryReactor* RunService::GetRun(grpc::CallbackServerContext* context,
                                             const v1::GetRunRequest* request, v1::GetRunResponse* response) {
  return Answer(*context, DescribeRun(coordinator_.board(), *request), response);
}

grpc::ServerWriteReactor<v1::WatchRunResponse>* RunService::WatchRun(grpc::CallbackServerContext*,
                                                                     const v1::WatchRunRequest* request) {
  return WatchRunCall::Start(coordinator_.board(), *request, patience_);
}

grpc::ServerUnaryReactor* RunService::PauseRun(grpc::CallbackServerContext* context,
                                               const v1::PauseRunRequest* request,
                                               v1::PauseRunResponse* response) {
  return Change(coordinator_, *context, request->run(), &Run::Pause, response);
}

grpc::ServerUnaryReactor* RunService::ResumeRun(grpc::CallbackServerContext* context,
                                                const v1::ResumeRunRequest* request,
                                                v1::ResumeRunResponse* response) {
  return Change(coordinator_, *context, request->run(), &Run::Resume, response);
}

grpc::ServerUnaryReactor* RunService::StopRun(grpc::CallbackServerContext* context,
                                              const v1::StopRunRequest* request,
                                              v1::StopRunResponse* response) {
  return Change(coordinator_, *context, request->run(), &Run::Stop, response);
}

grpc::ServerUnaryReactor* ModelService::ListModels(grpc::CallbackServerContext* context,
                                                   const v1::ListModelsRequest* request,
                                                   v1::ListModelsResponse* response) {
  return Answer(*context, learning::ListModels(coordinator_.board(), *request), response);
}

grpc::ServerWriteReactor<v1::ReadModelResponse>* ModelService::ReadModel(
    grpc::CallbackServerContext* context, const v1::ReadModelRequest* request) {
  const auto call = ModelCall<v1::ReadModelResponse>::Make(
      *context, request->run(), 0,
      [](const OpenModel& model, const std::string& run, v1::ReadModelResponse& response) {
        *response.mutable_model() = ModelMessage(run, model.record, model.current);
      });
  coordinator_.OpenModelAfter(request->run(),
                              request->current() ? std::nullopt : std::optional(request->round()),
                              [call](absl::StatusOr<OpenModel> model) { call->Opened(std::move(model)); });
  return call.get();
}

grpc::ServerUnaryReactor* ModelService::RollBackModel(grpc::CallbackServerContext* context,
                                                      const v1::RollBackModelRequest* request,
                                                      v1::RollBackModelResponse* response) {
  const auto roll_back = [round = request->round()](Run& run) { return run.RollBack(round); };
  return Change(coordinator_, *context, request->run(), roll_back, response);
}

}  // namespace tributary::learning
