#include "aggregator/learning/service/run_service.h"

#include <algorithm>
#include <utility>

#include "core/link/grpc_call.h"
#include "aggregator/learning/service/model_call.h"
#include "aggregator/learning/service/run_wire.h"
#include "aggregator/learning/service/start_run_call.h"
#include "aggregator/learning/service/watch_run_call.h"

namespace tributary {
namespace {

// Answers once the change is in the store, with the run as it is then.
template <class Response>
Coordinator::Done<absl::Status> AnswerWithRun(Coordinator& coordinator, grpc::ServerUnaryReactor* reactor,
                                              const std::string& run, Response* response) {
  return [&coordinator, reactor, run, response](const absl::Status& status) {
    const auto view = coordinator.board().Find(run);
    if (status.ok() && view != nullptr) *response->mutable_run() = RunToWire(*view, false);
    reactor->Finish(ToGrpcStatus(status));
  };
}

}  // namespace

grpc::ServerReadReactor<v1::StartRunRequest>* RunService::StartRun(grpc::CallbackServerContext* context,
                                                                   v1::StartRunResponse* response) {
  return StartRunCall::Start(coordinator_, *context, response);
}

grpc::ServerUnaryReactor* RunService::ListRuns(grpc::CallbackServerContext* context,
                                               const v1::ListRunsRequest*, v1::ListRunsResponse* response) {
  for (const auto& view : coordinator_.board().Runs()) *response->add_runs() = RunToWire(*view, false);
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* RunService::GetRun(grpc::CallbackServerContext* context,
                                             const v1::GetRunRequest* request, v1::GetRunResponse* response) {
  auto* reactor = context->DefaultReactor();
  const auto view = coordinator_.board().Find(request->run());
  if (view == nullptr) {
    reactor->Finish(ToGrpcStatus(NoSuchRun(request->run())));
    return reactor;
  }
  *response->mutable_run() = RunToWire(*view, true);
  std::size_t bytes = 0;
  for (auto line = view->history.rbegin(); line != view->history.rend(); ++line) {
    v1::Round round = RoundToWire(**line);
    bytes += round.ByteSizeLong();
    if (bytes > kMaxHistoryBytes) break;
    *response->add_history() = std::move(round);
  }
  std::reverse(response->mutable_history()->begin(), response->mutable_history()->end());
  for (const ParticipantStatus& each : view->participants) {
    *response->add_participants() = ParticipantToWire(each);
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::WatchRunResponse>* RunService::WatchRun(grpc::CallbackServerContext*,
                                                                     const v1::WatchRunRequest* request) {
  return WatchRunCall::Start(coordinator_.board(), *request, patience_);
}

grpc::ServerUnaryReactor* RunService::PauseRun(grpc::CallbackServerContext* context,
                                               const v1::PauseRunRequest* request,
                                               v1::PauseRunResponse* response) {
  auto* reactor = context->DefaultReactor();
  coordinator_.Pause(request->run(), AnswerWithRun(coordinator_, reactor, request->run(), response));
  return reactor;
}

grpc::ServerUnaryReactor* RunService::ResumeRun(grpc::CallbackServerContext* context,
                                                const v1::ResumeRunRequest* request,
                                                v1::ResumeRunResponse* response) {
  auto* reactor = context->DefaultReactor();
  coordinator_.Resume(request->run(), AnswerWithRun(coordinator_, reactor, request->run(), response));
  return reactor;
}

grpc::ServerUnaryReactor* RunService::StopRun(grpc::CallbackServerContext* context,
                                              const v1::StopRunRequest* request,
                                              v1::StopRunResponse* response) {
  auto* reactor = context->DefaultReactor();
  coordinator_.StopRun(request->run(), AnswerWithRun(coordinator_, reactor, request->run(), response));
  return reactor;
}

grpc::ServerUnaryReactor* ModelService::ListModels(grpc::CallbackServerContext* context,
                                                   const v1::ListModelsRequest* request,
                                                   v1::ListModelsResponse* response) {
  auto* reactor = context->DefaultReactor();
  if (!request->run().empty() && coordinator_.board().Find(request->run()) == nullptr) {
    reactor->Finish(ToGrpcStatus(NoSuchRun(request->run())));
    return reactor;
  }
  for (const auto& view : coordinator_.board().Runs()) {
    if (!request->run().empty() && view->name != request->run()) continue;
    for (const ModelRecord& record : view->models) {
      *response->add_models() = ModelToWire(view->name, record, record.round == view->model_round);
    }
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::ReadModelResponse>* ModelService::ReadModel(
    grpc::CallbackServerContext* context, const v1::ReadModelRequest* request) {
  const auto call = ModelCall<v1::ReadModelResponse>::Make(
      *context, request->run(), 0,
      [](const OpenModel& model, const std::string& run, v1::ReadModelResponse& response) {
        *response.mutable_model() = ModelToWire(run, model.record, model.current);
      });
  coordinator_.OpenModelAfter(request->run(),
                              request->current() ? std::nullopt : std::optional(request->round()),
                              [call](absl::StatusOr<OpenModel> model) { call->Opened(std::move(model)); });
  return call.get();
}

grpc::ServerUnaryReactor* ModelService::RollBackModel(grpc::CallbackServerContext* context,
                                                      const v1::RollBackModelRequest* request,
                                                      v1::RollBackModelResponse* response) {
  auto* reactor = context->DefaultReactor();
  coordinator_.RollBack(request->run(), request->round(),
                        AnswerWithRun(coordinator_, reactor, request->run(), response));
  return reactor;
}

}  // namespace tributary
