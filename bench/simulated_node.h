// A node without data: it holds a Participate stream to an aggregator, fetches the model of every round and
// submits one update. The calls of all nodes run on one thread and one completion queue, and the update is
// encoded once, so that the aggregator is what is measured.
#pragma once

#include <fmt/format.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bench/measured_process.h"
#include "core/parameters/crc32c.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary {

using SteadyClock = std::chrono::steady_clock;

inline constexpr char kRun[] = "scale";
inline constexpr std::uint64_t kSamples = 10;
// As a real node, before it repeats a call that broke off.
inline constexpr std::chrono::milliseconds kRepeatAfter{500};
inline constexpr std::chrono::minutes kAttempt{10};

// What the completion queue gives back.
class Event {
 public:
  virtual ~Event() = default;
  virtual void OnEvent(bool ok) = 0;
};

// What all nodes share, and what they have done. One thread.
struct Fleet {
  grpc::CompletionQueue queue;
  const AggregatorProcess& aggregator;
  std::string run = {};                // empty: the nodes wait for any
  std::uint32_t last_round = 0;        // the task of this round is not done: the measurement ends with it
  v1::SubmitUpdateRequest chunk = {};  // the update, for every node and round
  std::uint64_t element_count = 0;

  // At the first task of a round that any node gets.
  struct Mark {
    SteadyClock::time_point at;
    double aggregator_cpu_s = 0;
    double own_cpu_s = 0;
    std::uint64_t accepted = 0;
  };
  Mark Now() const { return {SteadyClock::now(), aggregator.CpuSeconds(), OwnCpuSeconds(), accepted}; }

  std::map<std::uint32_t, Mark> rounds = {};
  std::size_t joined = 0;  // nodes that got a notice
  SteadyClock::time_point last_joined = {};
  std::uint64_t notices = 0;
  std::uint64_t accepted = 0;
  std::uint64_t repeated = 0;  // calls that broke off, and were begun again

  // The first task of the last round says that the one before is committed.
  bool done() const { return rounds.contains(last_round); }
};

struct Identity {
  std::string node;
  std::string boot_id;
};

inline void Prepare(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kAttempt);
}

// Whether a real node would call again.
inline bool Passes(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::CANCELLED ||
         status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

// An attempt at a call, and the next one if it breaks off.
class RepeatedCall : public Event {
 public:
  RepeatedCall(Fleet& fleet, v1::FederationService::Stub& stub, const Identity& self)
      : fleet_(fleet), stub_(stub), self_(self) {}

 protected:
  // The reader or writer of the attempt before lies in its context's memory and must be gone.
  grpc::ClientContext& NewContext() {
    context_ = std::make_unique<grpc::ClientContext>();
    return *context_;
  }
  void BeginAgainLater(const char* call, const grpc::Status& status) {
    if (!Passes(status)) {
      Die(fmt::format("{}: {} fails with code {}: {}", self_.node, call,
                      static_cast<int>(status.error_code()), status.error_message()));
    }
    fleet_.aggregator.CheckThatItRuns();
    ++fleet_.repeated;
    alarm_.Set(&fleet_.queue, std::chrono::system_clock::now() + kRepeatAfter, this);
  }

  Fleet& fleet_;
  v1::FederationService::Stub& stub_;
  const Identity& self_;

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  grpc::Alarm alarm_;
};

class UpdateSubmission : public RepeatedCall {
 public:
  using RepeatedCall::RepeatedCall;

  void Begin(const v1::TrainTask& task) {
    v1::UpdateHeader& header = *request_.mutable_header();
    header.set_run(kRun);
    header.set_round(task.round());
    header.set_node(self_.node);
    header.set_boot_id(self_.boot_id);
    header.set_schema_sha256(task.schema_sha256());
    header.set_base_model_sha256(task.model_sha256());
    header.set_encoding(v1::UPDATE_ENCODING_INT8);
    header.set_element_count(task.element_count());
    header.set_sample_count(kSamples);
    v1::UpdateMetrics& metrics = *header.mutable_metrics();
    metrics.set_loss(0.5);
    metrics.set_spread(1);
    metrics.set_seconds(0.1);
    metrics.set_steps(1);
    Begin();
  }

  void OnEvent(bool ok) override {
    switch (step_) {
      case Step::kHeader:
        if (!ok) return End();
        step_ = Step::kChunk;
        return writer_->WriteLast(fleet_.chunk, {}, this);
      case Step::kChunk:
        return End();
      case Step::kEnd:
        return Finish();
      case Step::kRest:
        return Begin();
    }
  }

 private:
  enum class Step { kHeader, kChunk, kEnd, kRest };

  void Begin() {
    writer_.reset();
    grpc::ClientContext& context = NewContext();
    Prepare(context);
    context.set_initial_metadata_corked(true);  // it leaves with the header
    response_.Clear();
    writer_ = stub_.PrepareAsyncSubmitUpdate(&context, &response_, &fleet_.queue);
    writer_->StartCall(this);
    step_ = Step::kHeader;
    writer_->Write(request_, this);
  }
  void End() {
    step_ = Step::kEnd;
    writer_->Finish(&status_, this);
  }
  void Finish() {
    step_ = Step::kRest;
    if (!status_.ok()) return BeginAgainLater("SubmitUpdate", status_);
    if (response_.accepted()) {
      ++fleet_.accepted;
      return;
    }
    const std::string refusal =
        fmt::format("{}: {}", v1::SubmitRefusal_Name(response_.reason()), response_.message());
    BeginAgainLater(
        "SubmitUpdate",
        {response_.try_again() ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::ABORTED, refusal});
  }

  Step step_ = Step::kRest;
  v1::SubmitUpdateRequest request_;  // the header
  v1::SubmitUpdateResponse response_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncWriter<v1::SubmitUpdateRequest>> writer_;
};

class ModelFetch : public RepeatedCall {
 public:
  ModelFetch(Fleet& fleet, v1::FederationService::Stub& stub, const Identity& self, UpdateSubmission& then)
      : RepeatedCall(fleet, stub, self), then_(then) {}

  void Begin(const v1::TrainTask& task) {
    task_ = task;
    Begin();
  }

  void OnEvent(bool ok) override {
    switch (step_) {
      case Step::kStart:
        if (!ok) return End();
        step_ = Step::kRead;
        return reader_->Read(&chunk_, this);
      case Step::kRead:
        if (!ok) return End();
        Take();
        return reader_->Read(&chunk_, this);
      case Step::kEnd:
        return Finish();
      case Step::kRest:
        return Begin();
    }
  }

 private:
  enum class Step { kStart, kRead, kEnd, kRest };

  void Begin() {
    v1::FetchModelRequest request;
    request.set_run(kRun);
    request.set_round(task_.round());
    request.set_node(self_.node);
    received_ = 0;
    reader_.reset();
    grpc::ClientContext& context = NewContext();
    Prepare(context);
    reader_ = stub_.PrepareAsyncFetchModel(&context, request, &fleet_.queue);
    step_ = Step::kStart;
    reader_->StartCall(this);
  }
  void Take() {
    if (chunk_.offset() != received_ || chunk_.crc32c() != parameters::Crc32c(chunk_.bytes())) {
      Die(self_.node + ": a damaged chunk of the model");
    }
    received_ += chunk_.bytes().size();
  }
  void End() {
    step_ = Step::kEnd;
    reader_->Finish(&status_, this);
  }
  void Finish() {
    step_ = Step::kRest;
    if (!status_.ok()) return BeginAgainLater("FetchModel", status_);
    if (received_ != task_.model_bytes()) Die(self_.node + ": the model is not as long as the task says");
    then_.Begin(task_);
  }

  UpdateSubmission& then_;
  Step step_ = Step::kRest;
  v1::TrainTask task_;
  v1::FetchModelResponse chunk_;
  std::uint64_t received_ = 0;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::FetchModelResponse>> reader_;
};

class TaskStream : public RepeatedCall {
 public:
  TaskStream(Fleet& fleet, v1::FederationService::Stub& stub, const Identity& self, ModelFetch& then)
      : RepeatedCall(fleet, stub, self), then_(then) {}

  void Begin() {
    v1::ParticipateRequest request;
    request.set_node(self_.node);
    request.set_boot_id(self_.boot_id);
    request.set_run(fleet_.run);
    request.set_sample_count(kSamples);
    reader_.reset();
    reader_ = stub_.PrepareAsyncParticipate(&NewContext(), request, &fleet_.queue);
    step_ = Step::kStart;
    reader_->StartCall(this);
  }

  void OnEvent(bool ok) override {
    switch (step_) {
      case Step::kStart:
        if (!ok) return End();
        step_ = Step::kRead;
        return reader_->Read(&notice_, this);
      case Step::kRead:
        if (!ok) return End();
        Take();
        return reader_->Read(&notice_, this);
      case Step::kEnd:
        step_ = Step::kRest;
        if (status_.ok()) Die(self_.node + ": the run has ended: " + notice_.ended().reason());
        return BeginAgainLater("Participate", status_);
      case Step::kRest:
        return Begin();
    }
  }

 private:
  enum class Step { kStart, kRead, kEnd, kRest };

  void Take() {
    ++fleet_.notices;
    if (!joined_) {
      joined_ = true;
      ++fleet_.joined;
      fleet_.last_joined = SteadyClock::now();
    }
    if (!notice_.has_train() || notice_.train().round() == round_) return;
    round_ = notice_.train().round();
    if (!fleet_.rounds.contains(round_)) fleet_.rounds[round_] = fleet_.Now();
    if (notice_.train().element_count() != fleet_.element_count) Die("the run has another model");
    if (round_ != fleet_.last_round) then_.Begin(notice_.train());
  }
  void End() {
    step_ = Step::kEnd;
    reader_->Finish(&status_, this);
  }

  ModelFetch& then_;
  Step step_ = Step::kRest;
  bool joined_ = false;
  std::uint32_t round_ = 0;  // of the latest task
  v1::ParticipateResponse notice_;
  grpc::Status status_;
  std::unique_ptr<grpc::ClientAsyncReader<v1::ParticipateResponse>> reader_;
};

struct SimulatedNode {
  SimulatedNode(Fleet& fleet, v1::FederationService::Stub& stub, std::size_t index)
      : self{fmt::format("n{:05}", index), fmt::format("{:016}", index)},
        submission(fleet, stub, self),
        fetch(fleet, stub, self, submission),
        tasks(fleet, stub, self, fetch) {}

  Identity self;
  UpdateSubmission submission;
  ModelFetch fetch;
  TaskStream tasks;
};

}  // namespace tributary
