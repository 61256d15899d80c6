// The thread on which all runs of this aggregator live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/service/attendance.h"
#include "aggregator/learning/service/command_thread.h"
#include "aggregator/learning/service/federation_metrics.h"
#include "aggregator/learning/service/gate.h"
#include "aggregator/learning/service/hosted_runs.h"
#include "aggregator/learning/service/model_budget.h"
#include "core/runtime/clock.h"

namespace tributary::learning {

// A model in the store, open for reading.
struct OpenModel {
  store::ModelRecord record;
  bool current = false;
  store::CheckedReader file;
  Gate::Place place;  // one of kOpenModels
};

// An upload that was admitted, and its place in the gate.
struct BegunUpload {
  std::unique_ptr<Upload> upload;
  Gate::Place place;
};

// Its functions may be called from any thread and return at once; `done` is called on the coordinator's
// thread after the change is in the store, and returns at once itself. Each call of a peer has one command in
// the queue at most, so that the queue is as long as gRPC admits calls.
//
// What comes together is settled together: updates of one batch of commands are made durable by one sync
// before any of them is answered, and nodes are told what has changed for them once.
class Coordinator {
 public:
  template <class Result>
  using Done = std::function<void(Result)>;

  // Errors: those of HostedRuns::Open.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(const HostingOptions& options,
                                                            const runtime::Clock& clock,
                                                            store::StoreStepHook hook = {});
  ~Coordinator() { Stop(); }

  // Ends the streams of all nodes, also of those that join from now on, with Unavailable.
  void Drain();
  // Ends the thread; what is queued is done before. Every call that waits for an answer must have ended.
  void Stop() { thread_.Stop(); }

  // A node takes part until Leave or until its sink was ended: Attendance::Join. Without the name of a
  // run: the first one that has not ended, or the next to start.
  void Join(v1::ParticipateRequest declaration, std::shared_ptr<TaskSink> sink);
  void Leave(std::shared_ptr<TaskSink> sink);

  using Began = std::variant<Admission, BegunUpload>;
  // With an upload it is to be filled and then given to Submit or GiveUp.
  // `owner`: whose share of the memory for uploads it uses (Gate).
  void BeginUpload(std::string run, std::string owner, v1::UpdateHeader header, Done<Began> done);
  std::chrono::nanoseconds chunk_time() const { return chunk_time_; }
  std::int64_t NowNs() const { return clock_.SteadyNs(); }
  void Submit(std::string run, BegunUpload upload, Done<const Admission&> done);
  // It was refused by its contents or broke off.
  void GiveUp(std::string run, BegunUpload upload, v1::SubmitRefusal reason);

  void StartRun(std::string config, std::string model, Done<absl::StatusOr<std::string>> done);
  // What a node or an operator changes: &Run::Pause …
  void Change(std::string run, std::function<absl::Status(Run&)> change, Done<absl::Status> done);
  // Removes a run that has ended. Errors: those of HostedRuns::Delete.
  void DeleteRun(std::string run, Done<absl::Status> done);
  // What a parent changes (relay.h).
  void Post(std::function<void(HostedRuns&, Attendance&)> command);
  // Nothing: the model cannot be judged.
  void AddEvaluation(std::string run, std::uint32_t round, std::optional<v1::Evaluation> evaluation);

  // The model that `round` (under way) starts from, for a node that trains in it. FailedPrecondition: it is
  // not under way, or the node has no such task. `owner`: whose share of the places for open models it uses.
  void OpenRoundModel(std::string run, std::string owner, std::string node, std::uint32_t round,
                      Done<absl::StatusOr<OpenModel>> done);
  // The model after `round`; nullopt: the present one.
  void OpenModelAfter(std::string run, std::optional<std::uint32_t> round,
                      Done<absl::StatusOr<OpenModel>> done);

  RunBoard& board() { return runs_->board(); }
  // Connected, and in no run yet.
  std::vector<v1::ParticipateRequest> Waiting() const { return nodes_.Waiting(); }
  LearningCounters& counters() { return counters_; }
  ModelBudget& model_budget() { return model_budget_; }

 private:
  struct Arrived {
    std::string run;
    BegunUpload begun;
    Done<const Admission&> done;
  };

  Coordinator(std::unique_ptr<HostedRuns> runs, const HostingOptions& options, const runtime::Clock& clock);

  // The coordinator's thread only.
  std::int64_t Settle();
  void SubmitArrived();
  bool Publish(Run& run);  // whether it had changed

  // Any thread.
  using WhichModel = std::function<absl::StatusOr<store::ModelRecord>(const Run&)>;
  // `owner`: whose share of the places for open models it uses; empty: an operator's.
  void Open(std::string run, std::string owner, WhichModel which, Done<absl::StatusOr<OpenModel>> done);

  const std::unique_ptr<HostedRuns> runs_;
  LearningCounters counters_;
  Attendance nodes_;
  std::vector<Arrived> arrived_;  // updates of this batch of commands
  Gate uploads_;
  Gate open_models_;
  ModelBudget model_budget_;
  const std::chrono::nanoseconds chunk_time_;
  const runtime::Clock& clock_;
  CommandThread thread_;  // last: its commands use everything above
};

}  // namespace tributary::learning
