#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregator/access/call_context.h"
#include "aggregator/access/call_gate.h"
#include "aggregator/access/early_call.h"
#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/service/model_call.h"
#include "aggregator/learning/service/operations.h"
#include "aggregator/learning/service/run_api.h"
#include "aggregator/learning/service/services.h"
#include "aggregator/learning/service/streaming_call.h"
#include "core/wire/peer.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::learning {
namespace {

using ServerContext = grpc::CallbackServerContext;
using UnaryReactor = grpc::ServerUnaryReactor;

// Who makes a call of an operator.
access::Caller CallerOf(const ServerContext& context) {
  const std::optional<access::Peer> peer = access::PeerOf(*context.auth_context(), nullptr);
  return {peer ? peer->name : "", peer ? "certificate" : "anonymous", wire::PeerText(context.peer()), ""};
}

// One StartRun call. Holds the file until it is complete, within the budget that all such calls share. A
// sender that lets IdleWatch::kIdle pass without a chunk is cut off.
class StartRunCall final : public StreamingCall<StartRunCall, grpc::ServerReadReactor<v1::StartRunRequest>> {
 public:
  static constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 10;

  StartRunCall(const Operations& operations, ServerContext& context, v1::StartRunResponse* response)
      : operations_(operations),
        context_(context),
        response_(response),
        model_(operations.coordinator().model_budget()),
        idle_(context) {}

  StartRunCall* Start() {
    idle_.Start(weak_from_this());
    StartRead(&request_);
    return this;
  }

  void OnDone() override {
    idle_.Stop();
    StreamingCall::OnDone();
  }

  void OnReadDone(bool ok) override {
    idle_.Progress();
    if (!ok) return EndOfChunks();
    access::CountMessage(context_);
    if (absl::Status status = Take(); !status.ok()) return Refuse(status);
    StartRead(&request_);
  }

 private:
  absl::Status Take() {
    if (config_.empty()) {
      if (request_.config().empty() || !request_.chunk().empty()) {
        return absl::InvalidArgumentError("the first message must carry the configuration and nothing else");
      }
      if (request_.config().size() > kMaxConfigBytes) {
        return absl::InvalidArgumentError(fmt::format("config: {} bytes, at most {} are allowed",
                                                      request_.config().size(), kMaxConfigBytes));
      }
      config_ = std::move(*request_.mutable_config());
      return absl::OkStatus();
    }
    if (!request_.config().empty()) return absl::InvalidArgumentError("config: was given before");
    const std::size_t bytes = model_.bytes() + request_.chunk().size();
    if (model_.Add(std::move(*request_.mutable_chunk()))) return absl::OkStatus();
    const std::size_t allowed = operations_.coordinator().model_budget().bytes();
    const std::string_view what =
        bytes > allowed ? "the model has" : "come back in 30 s: the models that are being sent have together";
    return absl::ResourceExhaustedError(
        fmt::format("chunk: {} more than the {} bytes of federation.max_model_bytes", what, allowed));
  }

  void Refuse(const absl::Status& status) {
    access::CountMalformed(context_);
    operations_.RefuseStart(CallerOf(context_), config_, status);
    Finish(wire::ToGrpcStatus(status));
  }

  void EndOfChunks() {
    // A call that breaks off ends like one that is complete.
    if (context_.IsCancelled()) return Refuse(absl::CancelledError("the call broke off"));
    idle_.Excuse(true);
    operations_.Start(CallerOf(context_), std::move(config_), model_.Join(),
                      [call = shared_from_this()](absl::StatusOr<v1::Run> run) {
                        if (!run.ok()) return call->Finish(wire::ToGrpcStatus(run.status()));
                        *call->response_->mutable_run() = *std::move(run);
                        call->Finish(grpc::Status::OK);
                      });
  }

  const Operations operations_;
  ServerContext& context_;
  v1::StartRunResponse* const response_;
  v1::StartRunRequest request_;
  std::string config_;
  SentModel model_;
  IdleWatch idle_;
};

// One WatchRun stream. Told of changes on the coordinator's thread; writes what is new when no write is under
// way. Nothing is queued: a slow reader gets the latest state, and every line of the history. After the run
// it waits for the judgement of its last model, but no longer than `patience`.
class WatchRunCall final : public NewsCall<WatchRunCall, v1::WatchRunResponse>, public RunBoard::Listener {
 public:
  WatchRunCall(const RunBoard& board, ServerContext& context, const v1::WatchRunRequest& request,
               std::chrono::seconds patience)
      : NewsCall(context),
        board_(board),
        run_(request.run()),
        after_round_(request.after_round()),
        patience_(patience) {}

  static WatchRunCall* Start(RunBoard& board, ServerContext& context, const v1::WatchRunRequest& request,
                             std::chrono::seconds patience) {
    const std::shared_ptr<WatchRunCall> call = Make(board, context, request, patience);
    board.Add(call);
    call->Go();
    return call.get();
  }

  void OnChange(const std::string& run) override {
    if (run == run_) Go();
  }

 private:
  bool Next(v1::WatchRunResponse& response, std::optional<grpc::Status>& end) override REQUIRES(mutex_) {
    const std::shared_ptr<const RunRecord> record = board_.Find(run_);
    if (record == nullptr) {
      end = wire::ToGrpcStatus(NoSuchRun(run_));
      return false;
    }
    response.Clear();
    *response.mutable_run() = record->run;
    if (changes_ != record->history_changes && AddLines(response)) changes_ = record->history_changes;
    std::string bytes = response.run().SerializeAsString();
    if (!response.rounds().empty() || bytes != sent_bytes_) {
      sent_bytes_ = std::move(bytes);
      return true;
    }
    if (!record->ended()) return false;
    waiting_ = record->to_judge.has_value();
    if (!waiting_ || impatient_) end = grpc::Status::OK;
    return false;
  }

  // Lines that are new or amended; false: there are more than a message holds.
  bool AddLines(v1::WatchRunResponse& response) REQUIRES(mutex_) {
    std::size_t bytes = 0;
    while (bytes < kMaxHistoryBytes) {
      constexpr std::size_t kPage = 64;
      const auto lines = board_.store().LinesAfter(run_, revision_, kPage);
      if (!lines.ok() || lines->empty()) return true;
      for (const store::HistoryRecord& each : *lines) {
        if (bytes >= kMaxHistoryBytes) return false;
        revision_ = each.revision;
        auto line = ParseStored<v1::Round>(each.document, "history");
        if (!line.ok() || line->round() <= after_round_) continue;
        bytes += each.document.size();
        *response.add_rounds() = *std::move(line);
      }
    }
    return false;
  }

  void OnIdle() override {
    {
      const runtime::MutexLock lock(mutex_);
      if (!waiting_ || std::exchange(alarmed_, true)) return;
    }
    alarm_.Set(std::chrono::system_clock::now() + patience_, [weak = weak_from_this()](bool expired) {
      const auto call = weak.lock();
      if (call == nullptr || !expired) return;
      {
        const runtime::MutexLock lock(call->mutex_);
        call->impatient_ = true;
      }
      call->Go();
    });
  }

  const RunBoard& board_;
  const std::string run_;
  const std::uint32_t after_round_;
  const std::chrono::seconds patience_;
  bool waiting_ GUARDED_BY(mutex_) = false;    // for a judgement
  bool alarmed_ GUARDED_BY(mutex_) = false;    // the alarm is set
  bool impatient_ GUARDED_BY(mutex_) = false;  // has waited long enough
  // The history was sent up to this change. `changes_`: the count of changes as of which that is all.
  std::int64_t revision_ GUARDED_BY(mutex_) = 0;
  std::optional<std::uint64_t> changes_ GUARDED_BY(mutex_);
  std::string sent_bytes_ GUARDED_BY(mutex_);  // of the run's state: what did not change is not sent again
  grpc::Alarm alarm_;
};

// Answers once the change is in the store, with the run as it is then. `change`: a member of Operations, with
// its arguments between who asks and what to do with the result.
template <class Response, class Change, class... Arguments>
UnaryReactor* ChangeRun(ServerContext& context, Response& response, const Operations& operations,
                        Change change, const Arguments&... arguments) {
  UnaryReactor* reactor = context.DefaultReactor();
  if (absl::Status status = access::CheckNotRevoked(context); !status.ok()) {
    reactor->Finish(wire::ToGrpcStatus(status));
    return reactor;
  }
  const auto done = [reactor, &response](absl::StatusOr<v1::Run> run) {
    const grpc::Status status = wire::ToGrpcStatus(run.status());
    // A run that was deleted meanwhile has no name.
    if (run.ok() && !run->name().empty()) *response.mutable_run() = *std::move(run);
    reactor->Finish(status);
  };
  (operations.*change)(CallerOf(context), arguments..., done);
  return reactor;
}

template <class Response>
UnaryReactor* AnswerCall(ServerContext& context, absl::StatusOr<Response> answer, Response& response) {
  UnaryReactor* reactor = context.DefaultReactor();
  absl::Status status = access::CheckNotRevoked(context);
  if (status.ok()) status = answer.status();
  if (status.ok()) response = *std::move(answer);
  reactor->Finish(wire::ToGrpcStatus(status));
  return reactor;
}

class RunService final : public access::EarlyService<v1::RunService, v1::RunService::CallbackService> {
 public:
  RunService(const Operations& operations, const Relay* relay, std::chrono::seconds patience)
      : operations_(operations), coordinator_(operations.coordinator()), relay_(relay), patience_(patience) {
    BeginsEarly("ListRuns", &RunService::ListRuns);
    BeginsEarly("GetRun", &RunService::GetRun);
    BeginsEarly("WatchRun", &RunService::WatchRun);
    BeginsEarly("PauseRun", &RunService::PauseRun);
    BeginsEarly("ResumeRun", &RunService::ResumeRun);
    BeginsEarly("StopRun", &RunService::StopRun);
    BeginsEarly("DeleteRun", &RunService::DeleteRun);
  }

  grpc::ServerReadReactor<v1::StartRunRequest>* StartRun(ServerContext* context,
                                                         v1::StartRunResponse* response) override {
    return StartRunCall::Make(operations_, *context, response)->Start();
  }

  UnaryReactor* ListRuns(ServerContext* context, const v1::ListRunsRequest* request,
                         v1::ListRunsResponse* response) override {
    return AnswerCall(*context, learning::ListRuns(coordinator_.board(), relay_, *request), *response);
  }

  UnaryReactor* GetRun(ServerContext* context, const v1::GetRunRequest* request,
                       v1::GetRunResponse* response) override {
    return AnswerCall(*context, DescribeRun(coordinator_.board(), *request), *response);
  }

  grpc::ServerWriteReactor<v1::WatchRunResponse>* WatchRun(ServerContext* context,
                                                           const v1::WatchRunRequest* request) override {
    return WatchRunCall::Start(coordinator_.board(), *context, *request, patience_);
  }

  UnaryReactor* PauseRun(ServerContext* context, const v1::PauseRunRequest* request,
                         v1::PauseRunResponse* response) override {
    return ChangeRun(*context, *response, operations_, &Operations::Pause, request->run());
  }

  UnaryReactor* ResumeRun(ServerContext* context, const v1::ResumeRunRequest* request,
                          v1::ResumeRunResponse* response) override {
    return ChangeRun(*context, *response, operations_, &Operations::Resume, request->run());
  }

  UnaryReactor* StopRun(ServerContext* context, const v1::StopRunRequest* request,
                        v1::StopRunResponse* response) override {
    return ChangeRun(*context, *response, operations_, &Operations::Stop, request->run());
  }

  UnaryReactor* DeleteRun(ServerContext* context, const v1::DeleteRunRequest* request,
                          v1::DeleteRunResponse* response) override {
    return ChangeRun(*context, *response, operations_, &Operations::Delete, request->run());
  }

 private:
  const Operations operations_;
  Coordinator& coordinator_;
  const Relay* const relay_;
  const std::chrono::seconds patience_;
};

class ModelService final : public access::EarlyService<v1::ModelService, v1::ModelService::CallbackService> {
 public:
  explicit ModelService(const Operations& operations)
      : operations_(operations), coordinator_(operations.coordinator()) {
    BeginsEarly("ListModels", &ModelService::ListModels);
    BeginsEarly("ReadModel", &ModelService::ReadModel);
    BeginsEarly("RollBackModel", &ModelService::RollBackModel);
  }

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
    return ChangeRun(*context, *response, operations_, &Operations::RollBack, request->run(),
                     request->round());
  }

 private:
  const Operations operations_;
  Coordinator& coordinator_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeServices(Coordinator& coordinator, const Relay* relay,
                                                         std::chrono::seconds patience,
                                                         access::AuditLog* audit) {
  const Operations operations(coordinator, audit);
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(MakeFederationService(coordinator));
  services.push_back(std::make_unique<RunService>(operations, relay, patience));
  services.push_back(std::make_unique<ModelService>(operations));
  return services;
}

}  // namespace tributary::learning
