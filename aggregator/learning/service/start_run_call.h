// One StartRun call: configuration and model on their way in.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/streaming_call.h"
#include "core/runtime/process.h"
#include "core/wire/federation_task.h"
#include "core/wire/peer.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// Holds the file until it is complete: at most kMaxModelBytes, which every node takes.
class StartRunCall final : public StreamingCall<StartRunCall, grpc::ServerReadReactor<v1::StartRunRequest>> {
 public:
  static constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 10;

  StartRunCall(Coordinator& coordinator, const grpc::CallbackServerContext& context,
               v1::StartRunResponse* response)
      : coordinator_(coordinator), context_(context), response_(response) {}

  StartRunCall* Start() {
    StartRead(&request_);
    return this;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return EndOfChunks();
    if (absl::Status status = Take(); !status.ok()) return Finish(wire::ToGrpcStatus(status));
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
    if (model_.size() + request_.chunk().size() > wire::kMaxModelBytes) {
      return absl::ResourceExhaustedError(
          fmt::format("chunk: the model has more than the {} bytes allowed", wire::kMaxModelBytes));
    }
    model_ += request_.chunk();
    return absl::OkStatus();
  }

  void EndOfChunks() {
    // A call that breaks off ends like one that is complete.
    if (context_.IsCancelled()) return Finish(grpc::Status::CANCELLED);
    coordinator_.StartRun(
        std::move(config_), std::move(model_),
        [call = shared_from_this()](const absl::StatusOr<std::string>& run) {
          runtime::ReturnFreedMemory();  // taking a model in needs some times its size for a moment
          if (!run.ok()) return call->Finish(wire::ToGrpcStatus(run.status()));
          const auto record = call->coordinator_.board().Find(*run);
          if (record != nullptr) *call->response_->mutable_run() = record->run;
          call->Finish(grpc::Status::OK);
        });
  }

  Coordinator& coordinator_;
  const grpc::CallbackServerContext& context_;
  v1::StartRunResponse* const response_;
  v1::StartRunRequest request_;
  std::string config_;
  std::string model_;
};

}  // namespace tributary::learning
