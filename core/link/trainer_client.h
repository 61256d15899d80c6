// The client of a program of the user's that trains (TrainerService), over a Unix socket.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tributary/v1/trainer.grpc.pb.h"

namespace tributary::link {

// One thread calls. The program may end and start again between two calls, or hang in one.
class TrainerClient {
 public:
  // `socket`: its path. `silence_ns`: how long the program may say nothing during a round. Connects when it
  // is called.
  TrainerClient(const std::string& socket, std::int64_t silence_ns);

  // Waits some seconds for a program that is just starting. Errors: Cancelled if `stop` was requested;
  // Unavailable if nobody serves; InvalidArgument for a description that cannot be.
  absl::StatusOr<v1::DescribeTrainerResponse> Describe(const std::stop_token& stop);

  // One round: `trained`, as long as `global`, gets the trained parameters. Errors, with `trained`
  // unspecified: Cancelled if `withdrawn` was requested; Unavailable if the program ended or does not run;
  // DeadlineExceeded if it was silent for too long; InvalidArgument or OutOfRange for answers that
  // TrainedParameters refuses; Unknown with its message if the program says that it failed.
  absl::StatusOr<v1::TrainerDone> Train(const v1::TrainerTask& task, std::span<const float> global,
                                        const std::stop_token& withdrawn, std::span<float> trained);

 private:
  const std::string socket_;
  const std::int64_t silence_ns_;
  std::unique_ptr<v1::TrainerService::Stub> stub_;
};

}  // namespace tributary::link
