#include "core/link/trainer_client.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/time.h>

#include <chrono>
#include <functional>

#include "core/status/macros.h"
#include "core/wire/peer.h"
#include "core/wire/trainer_stream.h"

namespace tributary::link {
namespace {

constexpr int kMaxMessageBytes = 2 << 20;  // a chunk and what is around it
constexpr std::chrono::seconds kStartLimit{5};

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

// A round's call, one operation after the other, each within the time that the program may be silent.
class TrainCall {
 public:
  TrainCall(v1::TrainerService::Stub& stub, const std::stop_token& withdrawn, std::int64_t silence_ns)
      : silence_(gpr_time_from_nanos(silence_ns, GPR_TIMESPAN)),
        withdraw_(withdrawn, [this] { context_.TryCancel(); }),
        stream_(stub.PrepareAsyncTrain(&context_, &queue_)) {}

  ~TrainCall() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  bool Start() {
    stream_->StartCall(this);
    return Await();
  }
  bool Write(const v1::TrainRequest& request) {
    stream_->Write(request, this);
    return Await();
  }
  bool WritesDone() {
    stream_->WritesDone(this);
    return Await();
  }
  bool Read(v1::TrainResponse* response) {
    stream_->Read(response, this);
    return Await();
  }
  grpc::Status Finish() {
    grpc::Status status;
    stream_->Finish(&status, this);
    Await();
    return status;
  }
  void Cancel() { context_.TryCancel(); }
  bool silent() const { return silent_; }

 private:
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    const gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), silence_);
    if (queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::TIMEOUT) {
      silent_ = true;
      context_.TryCancel();
      queue_.Next(&tag, &ok);  // comes at once after the cancellation
    }
    return ok && !silent_;
  }

  const gpr_timespec silence_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  const std::stop_callback<std::function<void()>> withdraw_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::TrainRequest, v1::TrainResponse>> stream_;
  bool silent_ = false;
};

bool Send(TrainCall& call, const v1::TrainerTask& task, std::span<const float> global) {
  v1::TrainRequest request;
  *request.mutable_task() = task;
  if (!call.Write(request)) return false;
  for (std::size_t sent = 0; sent < global.size();) {
    *request.mutable_chunk() = wire::ChunkToWire(global, sent);
    sent += request.chunk().values().size() / sizeof(float);
    if (!call.Write(request)) return false;
  }
  return call.WritesDone();
}

}  // namespace

TrainerClient::TrainerClient(const std::string& socket, std::int64_t silence_ns)
    : socket_(socket), silence_ns_(silence_ns), stub_(v1::TrainerService::NewStub(ChannelTo(socket))) {}

absl::StatusOr<v1::DescribeTrainerResponse> TrainerClient::Describe(const std::stop_token& stop) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + kStartLimit);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::DescribeTrainerResponse said;
  const grpc::Status status = stub_->Describe(&context, {}, &said);
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  if (!status.ok()) {
    return absl::UnavailableError(
        fmt::format("{}: no trainer answers there: {}", socket_, wire::PeerText(status.error_message())));
  }
  RETURN_IF_ERROR(wire::CheckDescription(said));
  return said;
}

absl::StatusOr<v1::TrainerDone> TrainerClient::Train(const v1::TrainerTask& task,
                                                     std::span<const float> global,
                                                     const std::stop_token& withdrawn,
                                                     std::span<float> trained) {
  TrainCall call(*stub_, withdrawn, silence_ns_);
  wire::TrainedParameters parameters(trained);
  absl::Status refused;
  if (call.Start() && Send(call, task, global)) {
    v1::TrainResponse response;
    while (refused.ok() && call.Read(&response)) refused = parameters.Take(response);
  }
  if (!refused.ok()) call.Cancel();
  const grpc::Status ended = call.Finish();
  if (withdrawn.stop_requested()) return absl::CancelledError("training was interrupted");
  if (call.silent()) {
    return absl::DeadlineExceededError(
        fmt::format("the trainer said nothing for {:.0f} s", 1e-9 * static_cast<double>(silence_ns_)));
  }
  if (!refused.ok()) return refused;
  if (ended.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError(fmt::format("{}: the trainer is not there, or it ended", socket_));
  }
  if (!ended.ok()) {
    return absl::UnknownError("the trainer failed: " + wire::PeerText(ended.error_message()));
  }
  if (!parameters.done()) return absl::InvalidArgumentError("the trainer ended its answer before `done`");
  return parameters.result();
}

}  // namespace tributary::link
