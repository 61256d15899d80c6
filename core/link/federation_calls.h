// One attempt at each call of FederationService that moves data.
#pragma once

#include <grpcpp/client_context.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/link/federation_client.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary::link {

absl::Status FromGrpc(const grpc::Status& status);

// Appends to `file` the missing part of the model of `task`, and checks each chunk. After an error `file`
// keeps what has arrived, so the next attempt resumes there. Errors: DataLoss for a chunk that does not
// follow or whose checksum differs; those of the call.
absl::Status FetchModelOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                            const wire::TrainTask& task, const std::stop_token& withdrawn, std::string& file);

// Declines the task of `round` (0: the present task). It is no error if the aggregator does not know this
// call or no longer needs it. Errors: those of the call.
absl::Status DeclineOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                         const std::string& run, std::uint32_t round, const parameters::TaskDecline& decline,
                         const std::stop_token& stop);

// An update that is being sent.
struct OutgoingUpdate {
  v1::UpdateHeader header;
  // The elements from `first` on, in the header's encoding.
  std::function<absl::Status(std::size_t first, std::size_t count, std::string& payload)> encode;
};
// The caller sets the sample count of plain training.
OutgoingUpdate Outgoing(const FederationClientOptions& self, const wire::TrainTask& task,
                        const FinishedTraining& training);
OutgoingUpdate Outgoing(const FederationClientOptions& self, const wire::TrainTask& task,
                        const FinishedWords& training);

// Sends the update in chunks of at most 1 MiB and adds their payload to `sent_bytes`. `withdrawn` stops the
// sending at once and the wait for the answer after a second; `stopping` stops both at once. Errors: those of
// `encode`; those of the call.
absl::StatusOr<SubmitAnswer> SubmitOnce(v1::FederationService::Stub& stub, const OutgoingUpdate& update,
                                        const std::stop_token& withdrawn, const std::stop_token& stopping,
                                        std::atomic<std::uint64_t>& sent_bytes);

}  // namespace tributary::link
