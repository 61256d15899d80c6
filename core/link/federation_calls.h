// One attempt each at the calls of FederationService that move data.
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

// Appends to `file` what is missing of the model of `task`, checked chunk by chunk. What has arrived stays in
// `file` after an error, so that another attempt goes on behind it. Errors: DataLoss for a chunk that does
// not follow or whose checksum differs; those of the call.
absl::Status FetchModelOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                            const wire::TrainTask& task, const std::stop_token& withdrawn, std::string& file);

// Says that this node does not do that task; 0: the present one. An aggregator that takes no such call, or no
// longer needs it, is no error. Errors: those of the call.
absl::Status DeclineOnce(v1::FederationService::Stub& stub, const FederationClientOptions& self,
                         const std::string& run, std::uint32_t round, const parameters::TaskDecline& decline,
                         const std::stop_token& stop);

struct SubmitAttempt {
  SubmitAnswer answer;
  bool try_again = false;  // the aggregator says that the same update may be accepted later
};

// An update on its way.
struct OutgoingUpdate {
  v1::UpdateHeader header;
  // Elements from `first` on as the header's encoding has them.
  std::function<absl::Status(std::size_t first, std::size_t count, std::string& payload)> encode;
};
// Of plain training, the sample count is the caller's to set.
OutgoingUpdate Outgoing(const FederationClientOptions& self, const wire::TrainTask& task,
                        const FinishedTraining& training);
OutgoingUpdate Outgoing(const FederationClientOptions& self, const wire::TrainTask& task,
                        const FinishedWords& training);

// Sends it in chunks of at most 1 MiB; `sent_bytes` grows by their payload. `withdrawn` ends the sending, and
// the wait for the answer after a second; `stopping` ends both at once. Errors: those of `encode`; those of
// the call.
absl::StatusOr<SubmitAttempt> SubmitOnce(v1::FederationService::Stub& stub, const OutgoingUpdate& update,
                                         const std::stop_token& withdrawn, const std::stop_token& stopping,
                                         std::atomic<std::uint64_t>& sent_bytes);

}  // namespace tributary::link
