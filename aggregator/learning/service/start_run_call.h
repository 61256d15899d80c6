// One StartRun call: configuration and model on their way in.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <memory>
#include <string>

#include "aggregator/learning/service/coordinator.h"
#include "core/wire/federation_convert.h"
#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// Holds the file until it is complete: at most kMaxModelBytes, which every node takes.
class StartRunCall final : public grpc::ServerReadReactor<v1::StartRunRequest>,
                           public std::enable_shared_from_this<StartRunCall> {
 public:
  static constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 10;

  static StartRunCall* Start(Coordinator& coordinator, const grpc::CallbackServerContext& context,
                             v1::StartRunResponse* response);

  void OnReadDone(bool ok) override;
  void OnDone() override { self_.reset(); }

 private:
  StartRunCall(Coordinator& coordinator, const grpc::CallbackServerContext& context,
               v1::StartRunResponse* response)
      : coordinator_(coordinator), context_(context), response_(response) {}

  absl::Status Take();
  void EndOfChunks();

  Coordinator& coordinator_;
  const grpc::CallbackServerContext& context_;
  v1::StartRunResponse* const response_;
  std::shared_ptr<StartRunCall> self_;  // until OnDone
  v1::StartRunRequest request_;
  std::string config_;
  std::string model_;
};

}  // namespace tributary::learning
