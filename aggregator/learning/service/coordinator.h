// All runs of this aggregator, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/relay/relayed_run.h"
#include "aggregator/learning/run/run.h"
#include "aggregator/learning/service/command_thread.h"
#include "aggregator/learning/service/gate.h"
#include "aggregator/learning/service/learning_counters.h"
#include "aggregator/learning/service/node_streams.h"
#include "aggregator/learning/service/parent_roster.h"
#include "aggregator/learning/service/run_board.h"
#include "aggregator/learning/service/waiting_nodes.h"
#include "aggregator/store/store.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"

namespace tributary::learning {

struct CoordinatorOptions {
  std::string folder;  // of the store
  std::uint32_t keep_models = 0;
  bool judged = false;  // somebody calls AddEvaluation for every RunRecord::to_judge
};

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
  // Memory of the updates that are under way at once, by what each needs at most; further ones wait before
  // their first chunk is read.
  static constexpr std::size_t kUploadBytes = std::size_t{32} << 20;
  // Models that are read at once: a reader costs a descriptor and some chunks.
  static constexpr std::size_t kOpenModels = 64;
  // Streams of nodes, with those that wait for a run: no run has more nodes.
  static constexpr std::size_t kMaxParticipants = 10'000;
  template <class Result>
  using Done = std::function<void(Result)>;

  // Opens the store and goes on with its runs. Errors: those of Store::Open and Run::Restore. The hook
  // is for tests.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(const CoordinatorOptions& options,
                                                            const runtime::Clock& clock,
                                                            store::StoreStepHook hook = {});
  // Stop()
  ~Coordinator();

  // Ends the streams of all nodes, also of those that join from now on, with Unavailable.
  void Drain();
  // Ends the thread; what is queued is done before. Every call that waits for an answer must have ended.
  void Stop();

  // A node takes part until Leave or until its sink was ended. `run` empty: the first run that has not ended,
  // or the next to start. A sink of the same node and run that joined before is ended with Aborted; one
  // beyond kMaxParticipants with ResourceExhausted.
  void Join(std::string run, NodeDeclaration declaration, std::shared_ptr<TaskSink> sink);
  void Leave(const std::shared_ptr<TaskSink>& sink);

  using Began = std::variant<Admission, BegunUpload>;
  // With an upload it is to be filled and then given to Submit or GiveUp.
  void BeginUpload(std::string run, SubmissionHeader header, Done<Began> done);
  void Submit(std::string run, BegunUpload upload, Done<const Admission&> done);
  // It was refused by its contents or broke off.
  void GiveUp(std::string run, BegunUpload upload, SubmissionRefusal reason);

  // The node does not do its task of that round; 0: the present one. RunState::Decline.
  struct DeclineCall {
    std::uint32_t round = 0;
    std::string node;
    std::string boot_id;
    parameters::TaskDecline decline;
  };
  void Decline(std::string run, DeclineCall call, Done<absl::Status> done);

  // Secure aggregation: what a node has done of its step.
  void Take(std::string run, MaskingMessage message, Done<absl::Status> done);

  void StartRun(std::string config, std::string model, Done<absl::StatusOr<std::string>> done);
  // What an operator changes: &Run::Pause …
  void Change(std::string run, std::function<absl::Status(Run&)> change, Done<absl::Status> done);
  // The model that `round` (under way) starts from. FailedPrecondition: it is not under way.
  void OpenRoundModel(std::string run, std::uint32_t round, Done<absl::StatusOr<OpenModel>> done);
  // The model after `round`; nullopt: the present one.
  void OpenModelAfter(std::string run, std::optional<std::uint32_t> round,
                      Done<absl::StatusOr<OpenModel>> done);
  // Nothing: the model cannot be judged.
  void AddEvaluation(std::string run, std::uint32_t round, std::optional<v1::Evaluation> evaluation);

  // A parent's run (relay.h). From now on nodes that ask for a run that is not here wait, and `watch` is told
  // the roster (ParentRoster).
  void AwaitParent(ParentRoster::Watch watch);
  // The parent asks for a round of a run (Run::StartRelayed,
  // RelayedRun::BeginRound); another relayed run ends. `done` is called once, with the sum or why there is
  // none.
  void BeginRelayed(RunConfig config, ParentRound round, std::string model_file, RelayedRun::SumDone done);
  // Without effect on a run that is this aggregator's own. `missing` is called if there is no such relayed
  // run.
  void OnRelayed(std::string run, std::function<void(RelayedRun&, Run&)> act,
                 std::function<void()> missing = {});

  RunBoard& board() { return *board_; }
  const RunBoard& board() const { return *board_; }
  // Connected, and in no run yet.
  const WaitingNodes& waiting() const { return waiting_nodes_; }
  LearningCounters& counters() { return counters_; }
  const LearningCounters& counters() const { return counters_; }

 private:
  struct Hosted {
    std::unique_ptr<Run> run;
    std::unique_ptr<RelayedRun> relayed;  // null: of this aggregator's own
  };
  struct Arrived {
    std::string run;
    BegunUpload begun;
    Done<const Admission&> done;
  };

  Coordinator(std::unique_ptr<store::Store> store, std::unique_ptr<store::StoreReader> reader,
              const CoordinatorOptions& options, const runtime::Clock& clock);

  // The coordinator's thread only, from here on.
  Hosted* Find(std::string_view run);
  absl::StatusOr<Run*> FindOrSay(std::string_view run);
  Run& AddRun(std::unique_ptr<Run> run);
  std::int64_t Settle();
  void SubmitArrived();
  void CheckHealth();
  void Publish(Run& run);
  void Tell(Run& run, const ChangedNodes& changed);
  void Tell(Run& run, const TaskSink* sink);
  void Drop(const TaskSink* sink, absl::Status why);
  RosterSize CountRoster();
  // Puts the stream into its run, or lets it wait; what is of no use is ended.
  void Assign(NodeStream stream);
  absl::StatusOr<std::string> TryStart(const std::string& config, const std::string& model);
  absl::StatusOr<Hosted*> RelayedFor(const RunConfig& config, const ParentRound& round,
                                     std::string_view model_file);
  absl::StatusOr<OpenModel> Open(const Run& run, const store::ModelRecord& record, Gate::Place place);
  void SayThatItCame(const NodeStream& stream);
  void SayThatItLeft(const NodeStream& stream);

  const std::unique_ptr<store::Store> store_;
  const runtime::Clock& clock_;
  const RunSurroundings surroundings_;
  std::map<std::string, Hosted, std::less<>> runs_;
  std::vector<Run*> order_;  // of their starts
  NodeStreams streams_;
  std::vector<Arrived> arrived_;  // updates of this batch of commands
  ParentRoster parent_roster_;
  bool draining_ = false;
  runtime::LogLimit node_lines_{100, 1'000'000'000};  // nodes come and go in crowds

  const std::unique_ptr<RunBoard> board_;
  WaitingNodes waiting_nodes_;
  LearningCounters counters_;
  Gate uploads_;
  Gate open_models_;
  CommandThread thread_;  // last: its commands use everything above
};

}  // namespace tributary::learning
