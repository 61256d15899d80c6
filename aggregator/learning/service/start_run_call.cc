#include "aggregator/learning/service/start_run_call.h"

#include <fmt/format.h>

#include <utility>

#include "core/link/grpc_call.h"
#include "core/runtime/process.h"

namespace tributary::learning {

StartRunCall* StartRunCall::Start(Coordinator& coordinator, const grpc::CallbackServerContext& context,
                                  v1::StartRunResponse* response) {
  auto call = std::shared_ptr<StartRunCall>(new StartRunCall(coordinator, context, response));
  call->self_ = call;
  call->StartRead(&call->request_);
  return call.get();
}

absl::Status StartRunCall::Take() {
  if (config_.empty()) {
    if (request_.config().empty() || !request_.chunk().empty()) {
      return absl::InvalidArgumentError("the first message must carry the configuration and nothing else");
    }
    if (request_.config().size() > kMaxConfigBytes) {
      return absl::InvalidArgumentError(
          fmt::format("config: {} bytes, at most {} are allowed", request_.config().size(), kMaxConfigBytes));
    }
    config_ = std::move(*request_.mutable_config());
    return absl::OkStatus();
  }
  if (!request_.config().empty()) return absl::InvalidArgumentError("config: was given before");
  if (model_.size() + request_.chunk().size() > wire::kMaxModelBytes) {
    return absl::ResourceExhaustedError(
        fmt::format("chunk: the model has more than the {} bytes allowed", wire::kMaxModelBytes));
  }
  model_ += request_.chunk();
  return absl::OkStatus();
}

void StartRunCall::OnReadDone(bool ok) {
  if (!ok) return EndOfChunks();
  if (absl::Status status = Take(); !status.ok()) return Finish(link::ToGrpcStatus(status));
  StartRead(&request_);
}

void StartRunCall::EndOfChunks() {
  // A call that breaks off ends like one that is complete.
  if (context_.IsCancelled()) return Finish(grpc::Status::CANCELLED);
  coordinator_.StartRun(
      std::move(config_), std::move(model_),
      [call = shared_from_this()](const absl::StatusOr<std::string>& run) {
        runtime::ReturnFreedMemory();  // taking a model in needs some times its size for a moment
        if (!run.ok()) return call->Finish(link::ToGrpcStatus(run.status()));
        const auto record = call->coordinator_.board().Find(*run);
        if (record != nullptr) *call->response_->mutable_run() = record->run;
        call->Finish(grpc::Status::OK);
      });
}

}  // namespace tributary::learning
