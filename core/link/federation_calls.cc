#include "core/link/federation_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/link/request_stream.h"
#include "core/parameters/crc32c.h"
#include "core/parameters/update_encoding.h"
#include "core/status/macros.h"
#include "core/wire/peer.h"

namespace tributary::link {
namespace {

// The call times out and is retried if the peer is idle for this long. Keepalive detects a lost connection
// much earlier.
constexpr std::chrono::minutes kCallLimit{10};
// Timeout of a call with a small message.
constexpr std::chrono::seconds kSmallAttempt{30};
// The aggregator sends an answer and the next task at the same time, on two streams.
constexpr absl::Duration kAnswerBehindTask = absl::Seconds(1);

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty()) {
    return absl::UnimplementedError("the aggregator's configuration has no [federation]");
  }
  return wire::PeerStatus(status);
}

absl::Status AppendChunk(std::string_view bytes, std::uint64_t offset, std::uint32_t crc32c,
                         std::uint64_t file_bytes, std::string& file) {
  if (offset != file.size()) {
    return absl::DataLossError(fmt::format("a chunk of the model at {}, expected {}", offset, file.size()));
  }
  if (bytes.empty() || bytes.size() > file_bytes - file.size()) {
    return absl::DataLossError(fmt::format("a chunk of {} bytes where {} of the model are missing",
                                           bytes.size(), file_bytes - file.size()));
  }
  if (crc32c != parameters::Crc32c(bytes)) {
    return absl::DataLossError(fmt::format("the chunk of the model at {} is damaged", offset));
  }
  file += bytes;
  return absl::OkStatus();
}

absl::Status MustBeWhole(const std::string& file, std::uint64_t file_bytes) {
  if (file_bytes > 0 && file.size() == file_bytes) return absl::OkStatus();
  return absl::DataLossError(fmt::format("the model ends after {} of {} bytes", file.size(), file_bytes));
}

absl::Status FetchModelOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                            const wire::TrainTask& task, const std::stop_token& withdrawn,
                            std::string& file) {
  v1::FetchModelRequest request;
  request.set_run(task.run);
  request.set_round(task.round);
  request.set_node(self.node);
  request.set_offset(file.size());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
  const std::stop_callback cancel(withdrawn, [&context] { context.TryCancel(); });
  const auto reader = stub.FetchModel(&context, request);
  v1::FetchModelResponse chunk;
  while (reader->Read(&chunk)) {
    absl::Status status =
        AppendChunk(chunk.bytes(), chunk.offset(), chunk.crc32c(), task.train.model_bytes(), file);
    if (!status.ok()) {
      context.TryCancel();
      reader->Finish();
      return status;
    }
  }
  RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  return MustBeWhole(file, task.train.model_bytes());
}

absl::Status DeclineOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                         const std::string& run, std::uint32_t round, v1::DeclineTaskRequest decline,
                         const std::stop_token& stop) {
  decline.set_run(run);
  decline.set_round(round);
  decline.set_node(self.node);
  decline.set_boot_id(self.boot_id);
  decline.set_message(wire::PeerText(decline.message()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kSmallAttempt);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::DeclineTaskResponse response;
  const grpc::Status status = stub.DeclineTask(&context, decline, &response);
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return absl::OkStatus();
  return FromGrpc(status);
}

absl::StatusOr<SubmitAnswer> SubmitOnce(v1::FederationService::Stub& stub, const v1::UpdateHeader& header,
                                        const EncodeElements& encode, const std::stop_token& withdrawn,
                                        const std::stop_token& stopping,
                                        std::atomic<std::uint64_t>& sent_bytes) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
  absl::Notification answered;
  std::atomic<bool> sent_whole = false;
  const std::stop_callback stopped(stopping, [&context] { context.TryCancel(); });
  const std::stop_callback overtaken(withdrawn, [&] {
    if (sent_whole) answered.WaitForNotificationWithTimeout(kAnswerBehindTask);
    context.TryCancel();
  });
  SubmitAnswer answer;
  RequestStream<v1::SubmitUpdateRequest> stream([&](grpc::CompletionQueue* queue) {
    return stub.AsyncSubmitUpdate(&context, &answer, queue, nullptr);
  });
  const std::size_t elements = header.element_count();
  const std::size_t per_chunk =
      parameters::ElementsPerChunk(static_cast<parameters::UpdateEncoding>(header.encoding()));
  v1::SubmitUpdateRequest request;
  *request.mutable_header() = header;
  stream.Write(request);
  request.clear_header();
  absl::Status status;
  for (std::size_t first = 0; stream.open() && first < elements; first += per_chunk) {
    const std::size_t count = std::min(per_chunk, elements - first);
    v1::UpdateChunk& chunk = *request.mutable_chunk();
    chunk.set_offset(first);
    chunk.set_count(static_cast<std::uint32_t>(count));
    status = encode(first, count, *chunk.mutable_payload());
    if (!status.ok()) break;
    chunk.set_crc32c(parameters::Crc32c(chunk.payload()));
    if (stream.Write(request)) sent_bytes += chunk.payload().size();
  }
  if (!status.ok()) context.TryCancel();
  sent_whole = stream.open() && status.ok();  // before the other side can know
  const grpc::Status ended = stream.Finish();
  answered.Notify();
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(FromGrpc(ended));
  answer.set_message(wire::PeerText(answer.message()));
  return answer;
}

}  // namespace tributary::link
