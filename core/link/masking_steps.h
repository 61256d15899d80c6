// A node's answers to the steps of secure aggregation.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/link/channel.h"
#include "core/privacy/masking_node.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"
#include "core/runtime/mutex.h"
#include "core/wire/federation_task.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary::link {

struct FederationClientOptions;

// Owns the node's secrets. Each Answer is one call. The client's task thread makes it at once, even while the
// learner trains. A step that this node cannot do is logged, counted and declined, so the aggregator
// continues without the node. Thread-safe.
class MaskingSteps {
 public:
  // All must outlive it.
  MaskingSteps(LiveStub<v1::FederationService>& stub, const FederationClientOptions& self,
               const runtime::Clock& clock);

  // Errors: those of the call; the aggregator asks again on the next stream.
  absl::Status Answer(const wire::AdvertiseKeysTask& task, const std::stop_token& stop);
  absl::Status Answer(const wire::ShareKeysTask& task, const std::stop_token& stop);
  absl::Status Answer(const wire::UnmaskTask& task, const std::stop_token& stop);

  // False if the keys of that round are lost (counted and declined), or if its mask is used. Errors: those of
  // the call that declines.
  absl::StatusOr<bool> CanMask(const wire::TrainTask& task, const std::stop_token& stop);
  // Masks the words in place; logs and counts unusable shares. Errors: those of MaskingParty::Find and
  // MaskingNode::Mask.
  absl::Status Mask(const wire::TrainTask& task, std::span<std::int32_t> words);

  std::uint64_t lost_rounds() const { return lost_rounds_; }          // whose keys this node had lost
  std::uint64_t refused_steps() const { return refused_steps_; }      // invalid ones, and answers not taken
  std::uint64_t unusable_shares() const { return unusable_shares_; }  // that other nodes gave this one

 private:
  // Counts, logs and declines a step that cannot be done.
  absl::Status Skip(const std::string& run, std::uint32_t round, const absl::Status& why,
                    const std::stop_token& stop);
  void CountSkipped(const std::string& run, std::uint32_t round, const absl::Status& why);
  // What `make` gives for party_.
  template <class Make>
  std::invoke_result_t<Make, privacy::MaskingParty&> Locked(Make make);
  template <class Request, class Response>
  using Method = grpc::Status (v1::FederationService::Stub::*)(grpc::ClientContext*, const Request&,
                                                               Response*);
  template <class Task, class Made, class Request, class Response>
  absl::Status Call(Method<Request, Response> method, const Task& task, const absl::StatusOr<Made>& made,
                    void (*to_wire)(const Made&, Request&), const std::stop_token& stop);

  LiveStub<v1::FederationService>& stub_;
  const FederationClientOptions& self_;
  const runtime::Clock& clock_;
  runtime::LogLimit lines_{20, 1'000'000'000};  // an aggregator sends as many tasks as it likes
  std::atomic<std::uint64_t> lost_rounds_ = 0;
  std::atomic<std::uint64_t> refused_steps_ = 0;
  std::atomic<std::uint64_t> unusable_shares_ = 0;
  runtime::Mutex mutex_;
  privacy::MaskingParty party_ GUARDED_BY(mutex_);
  std::string last_lost_ GUARDED_BY(mutex_);  // run and round: each counts once
};

}  // namespace tributary::link
