// A small language for tests of the services: an aggregator's runs behind a real gRPC server, and nodes.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/learning/service/attendance.h"
#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/services.h"
#include "core/runtime/clock.h"
#include "tributary/v1/federation.grpc.pb.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::testing {

// A folder, a coordinator on its store, and a server on the loopback. Restart() is what a crash leaves.
class RoundsHost {
 public:
  RoundsHost();
  ~RoundsHost();

  // From the next start on, somebody judges models; a watcher waits so long for it.
  void ExpectJudgements(std::chrono::seconds patience) {
    options_.judged = true;
    patience_ = patience;
  }
  // The next start takes them.
  learning::HostingOptions& options() { return options_; }
  // Call before Start: makes the calls' contexts until the server stops.
  void MakeContextsWith(std::unique_ptr<grpc::ContextAllocator> contexts) { contexts_ = std::move(contexts); }
  void Start(store::StoreStepHook hook = {});
  void Stop();
  void Restart(store::StoreStepHook hook = {}) {
    Stop();
    Start(std::move(hook));
  }

  learning::Coordinator& coordinator() { return *coordinator_; }
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }
  int port() const { return port_; }
  std::string store() const { return folder_ + "/store"; }

  // A model of the parameters 0, 1, 2 … in one tensor.
  static std::string ModelFile(std::size_t elements);
  grpc::Status StartRun(const std::string& config, const std::string& model) const;
  v1::GetRunResponse Run(const std::string& run = "r") const;
  // The parameters after a round.
  std::vector<float> Parameters(std::uint32_t round, const std::string& run = "r") const;
  // Waits until a round is in the history.
  v1::Round WaitForRound(std::uint32_t round) const;

 private:
  runtime::SystemClock clock_;
  std::chrono::seconds patience_{20};
  std::unique_ptr<grpc::ContextAllocator> contexts_;
  learning::HostingOptions options_;
  std::string folder_;
  std::unique_ptr<learning::Coordinator> coordinator_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  int port_ = 0;
};

// One node with its Participate stream.
class TestNode {
 public:
  TestNode(const RoundsHost& host, std::string name, std::uint64_t samples = 1, std::string run = "r");
  ~TestNode();

  // The next task; waits for it. Empty if the stream has ended.
  v1::ParticipateResponse Next();
  // Passes over what comes before.
  v1::TrainTask NextTrain();
  // The status with which the stream ended; waits for the end.
  grpc::Status End();

  // What a header says for this node and task; to be changed by tests of what is wrong.
  v1::UpdateHeader Header(const v1::TrainTask& task) const;
  // Sends the header and one chunk per block of elements, float32.
  v1::SubmitUpdateResponse Submit(const v1::UpdateHeader& header, const std::vector<float>& delta,
                                  std::size_t block = 1 << 18) const;
  v1::SubmitUpdateResponse Submit(const v1::TrainTask& task, const std::vector<float>& delta) const {
    return Submit(Header(task), delta);
  }
  // Sends these messages as they are.
  v1::SubmitUpdateResponse Send(const std::vector<v1::SubmitUpdateRequest>& messages) const;
  // The messages of a whole submission.
  static std::vector<v1::SubmitUpdateRequest> Messages(const v1::UpdateHeader& header,
                                                       const std::vector<float>& delta, std::size_t block);

 private:
  std::string name_;
  std::string run_;
  std::uint64_t samples_;
  std::unique_ptr<v1::FederationService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::ParticipateResponse>> stream_;
};

// A node that sends its update message by message. The call is cancelled at its end.
class SlowNode {
 public:
  SlowNode(const RoundsHost& host, std::string name)
      : node_(host, std::move(name)), stub_(v1::FederationService::NewStub(host.channel())) {}
  ~SlowNode() { context_.TryCancel(); }

  // Waits for the node's task, sends the header and the first chunk of `block` elements. False: the update
  // was answered before.
  bool Begin(const std::vector<float>& delta, std::size_t block = 1 << 18);
  bool SendNext() { return writer_->Write(messages_[sent_++]); }
  void EndOfChunks() { writer_->WritesDone(); }
  // Waits for it.
  const v1::SubmitUpdateResponse& Answer();

 private:
  TestNode node_;
  std::unique_ptr<v1::FederationService::Stub> stub_;
  grpc::ClientContext context_;
  v1::SubmitUpdateResponse response_;
  std::unique_ptr<grpc::ClientWriter<v1::SubmitUpdateRequest>> writer_;
  std::vector<v1::SubmitUpdateRequest> messages_;
  std::size_t sent_ = 0;
};

// A stream of tasks that only notes how it was ended.
class SilentSink final : public learning::TaskSink {
 public:
  void OnTask(v1::ParticipateResponse) override {}
  void OnEnd(absl::Status status) override { ended = std::move(status); }
  std::optional<absl::Status> ended;  // read after the coordinator has answered something later
};

}  // namespace tributary::testing
