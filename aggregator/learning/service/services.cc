#include "aggregator/learning/service/services.h"

#include <functional>
#include <string>
#include <utility>

#include "aggregator/learning/service/federation_wire.h"
#include "aggregator/learning/service/model_call.h"
#include "aggregator/learning/service/participate_call.h"
#include "aggregator/learning/service/run_api.h"
#include "aggregator/learning/service/start_run_call.h"
#include "aggregator/learning/service/submit_call.h"
#include "aggregator/learning/service/watch_run_call.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"
#include "tributary/v1/federation.grpc.pb.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::learning {
namespace {

using ServerContext = grpc::CallbackServerContext;
using UnaryReactor = grpc::ServerUnaryReactor;
using RunChange = std::function<absl::Status(Run&)>;

class FederationService final : public v1::FederationService::CallbackService {
 public:
  explicit FederationService(Coordinator& coordinator) : coordinator_(coordinator) {}

  grpc::ServerWriteReactor<v1::ParticipateResponse>* Participate(
      ServerContext* context, const v1::ParticipateRequest* request) override {
    return ParticipateCall::Start(coordinator_, *context, *request);
  }

  grpc::ServerWriteReactor<v1::FetchModelResponse>* FetchModel(
      ServerContext* context, const v1::FetchModelRequest* request) override {
    const auto call = ModelCall<v1::FetchModelResponse>::Make(
        *context, request->run(), request->offset(),
        [](const OpenModel& model, const std::string&, v1::FetchModelResponse& response) {
          response.set_file_bytes(model.record.file.bytes);
          response.set_sha256(model.record.sha256);
        });
    if (absl::Status status = CheckPeer(*context->auth_context(), request->node()); !status.ok()) {
      call->Opened(status);
    } else {
      coordinator_.OpenRoundModel(request->run(), request->round(), [call](absl::StatusOr<OpenModel> model) {
        call->Opened(std::move(model));
      });
    }
    return call.get();
  }

  grpc::ServerReadReactor<v1::SubmitUpdateRequest>* SubmitUpdate(
      ServerContext* context, v1::SubmitUpdateResponse* response) override {
    return SubmitCall::Make(coordinator_, *context, response)->Start();
  }

  UnaryReactor* DeclineTask(ServerContext* context, const v1::DeclineTaskRequest* request,
                            v1::DeclineTaskResponse* response) override {
    return Tell(*context, *request, *response, Decline(*request));
  }

  UnaryReactor* AdvertiseKeys(ServerContext* context, const v1::AdvertiseKeysRequest* request,
                              v1::AdvertiseKeysResponse* response) override {
    return Tell(*context, *request, *response, Take(StepFromWire(*request)));
  }

  UnaryReactor* ShareKeys(ServerContext* context, const v1::ShareKeysRequest* request,
                          v1::ShareKeysResponse* response) override {
    return Tell(*context, *request, *response, Take(StepFromWire(*request)));
  }

  UnaryReactor* Unmask(ServerContext* context, const v1::UnmaskRequest* request,
                       v1::UnmaskResponse* response) override {
    return Tell(*context, *request, *response, Take(StepFromWire(*request)));
  }

 private:
  // Tells the run what the node says. A refusal is an answer, not an error of the call.
  template <class Request, class Response>
  UnaryReactor* Tell(ServerContext& context, const Request& request, Response& response,
                     absl::StatusOr<RunChange> change) {
    UnaryReactor* reactor = context.DefaultReactor();
    const auto answer = [reactor, &response](const absl::Status& status) {
      response.set_accepted(status.ok());
      response.set_message(std::string(status.message()));
      reactor->Finish(grpc::Status::OK);
    };
    absl::Status status = CheckPeer(*context.auth_context(), request.node());
    if (status.ok()) status = change.status();
    if (status.ok()) {
      coordinator_.Change(request.run(), *std::move(change), answer);
    } else {
      answer(status);
    }
    return reactor;
  }

  // The request lives until it is answered.
  absl::StatusOr<RunChange> Decline(const v1::DeclineTaskRequest& request) {
    ASSIGN_OR_RETURN(parameters::TaskDecline declined, DeclineFromWire(request));
    return [this, &request, declined = std::move(declined)](Run& run) {
      const absl::StatusOr<bool> news =
          run.Decline(request.node(), request.boot_id(), request.round(), declined);
      if (news.ok() && *news) ++coordinator_.counters().declined[static_cast<std::size_t>(declined.reason)];
      return news.status();
    };
  }

  // A step of secure aggregation.
  absl::StatusOr<RunChange> Take(absl::StatusOr<MaskingMessage> step) {
    if (!step.ok()) return step.status();
    return [this, message = *std::move(step)](Run& run) {
      absl::Status status = run.Take(message);
      if (absl::IsInvalidArgument(status)) ++coordinator_.counters().refused_steps;
      return status;
    };
  }

  Coordinator& coordinator_;
};

// Answers once the change is in the store, with the run as it is then.
template <class Request, class Response>
UnaryReactor* ChangeRun(Coordinator& coordinator, ServerContext& context, const Request& request,
                        Response& response, RunChange change) {
  UnaryReactor* reactor = context.DefaultReactor();
  coordinator.Change(request.run(), std::move(change),
                     [&coordinator, reactor, &request, &response](const absl::Status& status) {
                       const auto record = coordinator.board().Find(request.run());
                       if (status.ok() && record != nullptr) *response.mutable_run() = record->run;
                       reactor->Finish(wire::ToGrpcStatus(status));
                     });
  return reactor;
}

template <class Response>
UnaryReactor* AnswerCall(ServerContext& context, absl::StatusOr<Response> answer, Response& response) {
  UnaryReactor* reactor = context.DefaultReactor();
  if (answer.ok()) response = *std::move(answer);
  reactor->Finish(wire::ToGrpcStatus(answer.status()));
  return reactor;
}

class RunService final : public v1::RunService::CallbackService {
 public:
  RunService(Coordinator& coordinator, const Relay* relay, std::chrono::seconds patience)
      : coordinator_(coordinator), relay_(relay), patience_(patience) {}

  grpc::ServerReadReactor<v1::StartRunRequest>* StartRun(ServerContext* context,
                                                         v1::StartRunResponse* response) override {
    return StartRunCall::Make(coordinator_, *context, response)->Start();
  }

  UnaryReactor* ListRuns(ServerContext* context, const v1::ListRunsRequest*,
                         v1::ListRunsResponse* response) override {
    return AnswerCall<v1::ListRunsResponse>(*context, learning::ListRuns(coordinator_.board(), relay_),
                                            *response);
  }

  UnaryReactor* GetRun(ServerContext* context, const v1::GetRunRequest* request,
                       v1::GetRunResponse* response) override {
    return AnswerCall(*context, DescribeRun(coordinator_.board(), *request), *response);
  }

  grpc::ServerWriteReactor<v1::WatchRunResponse>* WatchRun(ServerContext*,
                                                           const v1::WatchRunRequest* request) override {
    return WatchRunCall::Start(coordinator_.board(), *request, patience_);
  }

  UnaryReactor* PauseRun(ServerContext* context, const v1::PauseRunRequest* request,
                         v1::PauseRunResponse* response) override {
    return ChangeRun(coordinator_, *context, *request, *response, &Run::Pause);
  }

  UnaryReactor* ResumeRun(ServerContext* context, const v1::ResumeRunRequest* request,
                          v1::ResumeRunResponse* response) override {
    return ChangeRun(coordinator_, *context, *request, *response, &Run::Resume);
  }

  UnaryReactor* StopRun(ServerContext* context, const v1::StopRunRequest* request,
                        v1::StopRunResponse* response) override {
    return ChangeRun(coordinator_, *context, *request, *response, &Run::Stop);
  }

 private:
  Coordinator& coordinator_;
  const Relay* const relay_;
  const std::chrono::seconds patience_;
};

class ModelService final : public v1::ModelService::CallbackService {
 public:
  explicit ModelService(Coordinator& coordinator) : coordinator_(coordinator) {}

  UnaryReactor* ListModels(ServerContext* context, const v1::ListModelsRequest* request,
                           v1::ListModelsResponse* response) override {
    return AnswerCall(*context, learning::ListModels(coordinator_.board(), *request), *response);
  }

  grpc::ServerWriteReactor<v1::ReadModelResponse>* ReadModel(ServerContext* context,
                                                             const v1::ReadModelRequest* request) override {
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

  UnaryReactor* RollBackModel(ServerContext* context, const v1::RollBackModelRequest* request,
                              v1::RollBackModelResponse* response) override {
    return ChangeRun(coordinator_, *context, *request, *response,
                     [round = request->round()](Run& run) { return run.RollBack(round); });
  }

 private:
  Coordinator& coordinator_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeServices(Coordinator& coordinator, const Relay* relay,
                                                         std::chrono::seconds patience) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<FederationService>(coordinator));
  services.push_back(std::make_unique<RunService>(coordinator, relay, patience));
  services.push_back(std::make_unique<ModelService>(coordinator));
  return services;
}

}  // namespace tributary::learning
