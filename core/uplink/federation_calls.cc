#include "core/uplink/federation_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "core/parameters/crc32c.h"
#include "core/parameters/update_encoding.h"
#include "core/uplink/federation_convert.h"
#include "core/uplink/refusals.h"

namespace tributary {
namespace {

// A peer that takes or gives nothing for so long is tried anew; keepalive finds a cut link much earlier.
constexpr std::chrono::minutes kAttempt{10};

class CancelledBy {
 public:
  CancelledBy(grpc::ClientContext& context, const std::stop_token& withdrawn)
      : cancel_(withdrawn, [&context] { context.TryCancel(); }) {
    context.set_deadline(std::chrono::system_clock::now() + kAttempt);
  }

 private:
  std::stop_callback<std::function<void()>> cancel_;
};

absl::Status AppendChunk(const v1::FetchModelResponse& chunk, const TrainTask& task, std::string& file) {
  if (chunk.offset() != file.size()) {
    return absl::DataLossError(
        fmt::format("a chunk of the model at {}, expected {}", chunk.offset(), file.size()));
  }
  if (chunk.bytes().empty() || chunk.bytes().size() > task.model_bytes - file.size()) {
    return absl::DataLossError(fmt::format("a chunk of {} bytes where {} of the model are missing",
                                           chunk.bytes().size(), task.model_bytes - file.size()));
  }
  if (chunk.crc32c() != Crc32c(chunk.bytes())) {
    return absl::DataLossError(fmt::format("the chunk of the model at {} is damaged", chunk.offset()));
  }
  file += chunk.bytes();
  return absl::OkStatus();
}

v1::SubmitUpdateRequest Header(const FederationClientOptions& self, const TrainTask& task,
                               const FinishedTraining& training) {
  v1::SubmitUpdateRequest request;
  v1::UpdateHeader& header = *request.mutable_header();
  header.set_run(task.run);
  header.set_round(task.round);
  header.set_node(self.node);
  header.set_boot_id(self.boot_id.data(), self.boot_id.size());
  header.set_schema_sha256(task.schema_sha256);
  header.set_base_model_sha256(task.model_sha256);
  header.set_encoding(static_cast<v1::UpdateEncoding>(task.settings.encoding));
  header.set_element_count(training.update.size());
  header.set_sample_count(self.sample_count);
  v1::UpdateMetrics& metrics = *header.mutable_metrics();
  metrics.set_loss(training.metrics.loss);
  metrics.set_spread(training.metrics.spread);
  metrics.set_seconds(training.metrics.seconds);
  metrics.set_steps(training.metrics.steps);
  return request;
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), PeerText(status.error_message()));
}

absl::Status FetchModelOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                            const TrainTask& task, const std::stop_token& withdrawn, std::string& file) {
  v1::FetchModelRequest request;
  request.set_run(task.run);
  request.set_round(task.round);
  request.set_node(self.node);
  request.set_offset(file.size());
  grpc::ClientContext context;
  const CancelledBy cancelled(context, withdrawn);
  const auto reader = stub.FetchModel(&context, request);
  v1::FetchModelResponse chunk;
  while (reader->Read(&chunk)) {
    if (absl::Status status = AppendChunk(chunk, task, file); !status.ok()) {
      context.TryCancel();
      reader->Finish();
      return status;
    }
  }
  if (absl::Status status = FromGrpc(reader->Finish()); !status.ok()) return status;
  if (file.size() == task.model_bytes) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("the model ends after {} of {} bytes", file.size(), task.model_bytes));
}

absl::StatusOr<SubmitAttempt> SubmitOnce(v1::FederationService::Stub& stub,
                                         const FederationClientOptions& self, const TrainTask& task,
                                         const FinishedTraining& training, const std::stop_token& withdrawn,
                                         std::atomic<std::uint64_t>& sent_bytes) {
  grpc::ClientContext context;
  const CancelledBy cancelled(context, withdrawn);
  v1::SubmitUpdateResponse response;
  const auto writer = stub.SubmitUpdate(&context, &response);
  const std::span<const float> update = training.update;
  const std::size_t per_chunk = ElementsPerChunk(task.settings.encoding);
  v1::SubmitUpdateRequest request;
  // A write that fails means that the answer is there already, or the link is gone: Finish tells.
  bool open = writer->Write(Header(self, task, training));
  for (std::size_t first = 0; open && first < update.size(); first += per_chunk) {
    const std::size_t count = std::min(per_chunk, update.size() - first);
    const std::span<float> values = training.remainder.subspan(first, count);
    std::ranges::copy(update.subspan(first, count), values.begin());
    v1::UpdateChunk& chunk = *request.mutable_chunk();
    chunk.set_offset(first);
    chunk.set_count(static_cast<std::uint32_t>(count));
    if (absl::Status status = EncodeChunk(task.settings.encoding, values, *chunk.mutable_payload());
        !status.ok()) {
      context.TryCancel();
      writer->Finish();
      return status;
    }
    chunk.set_crc32c(Crc32c(chunk.payload()));
    open = writer->Write(request);
    if (open) sent_bytes += chunk.payload().size();
  }
  if (open) writer->WritesDone();
  if (absl::Status status = FromGrpc(writer->Finish()); !status.ok()) return status;
  SubmitAttempt attempt;
  attempt.answer.accepted = response.accepted();
  if (!response.accepted()) {
    attempt.answer.reason = SubmitRefusalLabel(response.reason());
    attempt.answer.message = PeerText(response.message());
    attempt.try_again = response.try_again();
  }
  return attempt;
}

}  // namespace tributary
