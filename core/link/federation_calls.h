// One attempt at each call of FederationService that moves data.
#pragma once

#include <grpcpp/client_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/link/federation_client.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary::link {

absl::Status FromGrpc(const grpc::Status& status);

// Appends the next chunk of a model of `file_bytes` to what has arrived of it. DataLoss for a chunk that does
// not follow, holds nothing or too much, or whose checksum differs.
absl::Status AppendChunk(std::string_view bytes, std::uint64_t offset, std::uint32_t crc32c,
                         std::uint64_t file_bytes, std::string& file);

// Call at the end of the stream. DataLoss if a part is missing: a chunk that cannot be parsed ends the
// stream.
absl::Status MustBeWhole(const std::string& file, std::uint64_t file_bytes);

// Appends to `file` the missing part of the model of `task`, and checks each chunk. After an error `file`
// keeps what has arrived, so the next attempt resumes there. Errors: those of AppendChunk, MustBeWhole and
// the call.
absl::Status FetchModelOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                            const wire::TrainTask& task, const std::stop_token& withdrawn, std::string& file);

// Declines the task of `round` (0: the present task), with the reason, scope and message of `decline`. It is
// no error if the aggregator does not know this call or no longer needs it. Errors: those of the call.
absl::Status DeclineOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                         const std::string& run, std::uint32_t round, v1::DeclineTaskRequest decline,
                         const std::stop_token& stop);

// Sends the update in chunks of at most 1 MiB and adds their payload to `sent_bytes`. `withdrawn` stops the
// sending at once and the wait for the answer after a second; `stopping` stops both at once. The answer's
// message is fit for a log. Errors: those of `encode`; DataLoss for an answer that cannot be read; those of
// the call.
absl::StatusOr<SubmitAnswer> SubmitOnce(v1::FederationService::Stub& stub, const v1::UpdateHeader& header,
                                        const EncodeElements& encode, const std::stop_token& withdrawn,
                                        const std::stop_token& stopping,
                                        std::atomic<std::uint64_t>& sent_bytes);

}  // namespace tributary::link
