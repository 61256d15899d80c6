#include "cli/run/start_call.h"

#include <fmt/format.h>

#include "cli/failure.h"
#include "cli/run/run_messages.h"
#include "core/exchange/model_description.h"
#include "core/learning/trainable_model.h"
#include "core/link/request_stream.h"
#include "core/parameters/flat_model.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/process.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {

absl::StatusOr<std::string> AsInitialModel(const std::string& file, const std::string& path,
                                           const learning::RunConfig& config) {
  RETURN_IF_ERROR(WithContext(path, parameters::DecodeFlatModel(file)).status());
  ASSIGN_OR_RETURN(parameters::TensorSet set, parameters::DecodeSafetensors(file));
  RETURN_IF_ERROR(WithContext(path, learning::CheckTrainable(config.client, set, config.strategy.kind)));
  exchange::RemoveDescription(set);
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<v1::StartRunResponse> CallStartRun(const ConnectionArguments& connection,
                                                  const std::string& config, std::string_view model) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  ASSIGN_OR_RETURN(const auto channel, Connect(connection));
  grpc::ClientContext context;
  SetDeadline(context, std::chrono::seconds(300));
  v1::StartRunResponse response;
  const auto stub = v1::RunService::NewStub(channel);
  link::RequestStream<v1::StartRunRequest> stream(
      [&](grpc::CompletionQueue* queue) { return stub->AsyncStartRun(&context, &response, queue, nullptr); });
  v1::StartRunRequest request;
  request.set_config(config);
  stream.Write(request);
  request.clear_config();
  while (stream.open() && !model.empty()) {
    const std::string_view chunk = model.substr(0, kChunkBytes);
    request.set_chunk(chunk.data(), chunk.size());
    model.remove_prefix(chunk.size());
    stream.Write(request);
  }
  const grpc::Status status = stream.Finish();
  if (!status.ok()) return FromPeer(status, connection);
  if (!response.has_run()) return FromPeer(absl::DataLossError("the answer names no run"), connection);
  return response;
}

absl::Status MustGoOn(const v1::Run& run) {
  if (run.state() != v1::RUN_STATE_STOPPED && run.state() != v1::RUN_STATE_FAILED) return absl::OkStatus();
  return WithExitCode(
      absl::FailedPreconditionError(fmt::format("{}; another name starts another run", RunSummary(run))),
      runtime::kExitFailure);
}

}  // namespace tributary::cli
