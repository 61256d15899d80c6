// All runs of this aggregator, on one thread.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/hosted_run.h"
#include "aggregator/learning/relay/relayed_run.h"
#include "aggregator/learning/service/run_board.h"
#include "aggregator/learning/service/task_notice.h"
#include "aggregator/learning/service/waiting_nodes.h"
#include "aggregator/store/store.h"
#include "core/runtime/clock.h"
#include "core/runtime/log_limit.h"
#include "core/runtime/mutex.h"

namespace tributary {

struct CoordinatorOptions {
  std::string folder;  // of the store
  std::uint32_t keep_models = 0;
  bool judged = false;  // somebody calls AddJudgement for every RunView::to_judge
};

// The answer to a submission.
struct SubmissionAnswer {
  bool accepted = false;
  SubmissionRefusal reason = SubmissionRefusal::kUnspecified;
  std::string message;
  bool try_again = false;
  std::vector<std::string> counted_elsewhere = {};  // Admission
};

// A model in the store, open for reading.
struct OpenModel {
  ModelRecord record;
  bool current = false;
  CheckedReader file;
  std::shared_ptr<void> place;  // one of Coordinator::kOpenModels; free again with the last copy of this
};

// The nodes that could do a parent's training: those that wait for a run and those in the relayed one.
struct Roster {
  std::size_t nodes = 0;  // that have said how many samples they have
  std::uint64_t sample_count = 0;

  friend bool operator==(const Roster&, const Roster&) = default;
};

// Its functions may be called from any thread and return at once; `done` is called on the coordinator's
// thread after the change is in the store, and returns at once itself. Each call of a peer has one command in
// the queue at most, so that the queue is as long as gRPC admits calls.
//
// Uploads: at most kUploads at a time, so that memory stays bounded; further ones wait for their turn before
// their first chunk is read.
class Coordinator {
 public:
  static constexpr std::size_t kUploads = 8;
  // Likewise, models that are read: a reader costs a descriptor and some chunks.
  static constexpr std::size_t kOpenModels = 64;
  // Streams of nodes, with those that wait for a run: no run has more nodes.
  static constexpr std::size_t kMaxParticipants = 10'000;
  template <class Result>
  using Done = std::function<void(Result)>;

  // Opens the store and goes on with its runs. Errors: those of Store::Open and HostedRun::Restore. The hook
  // is for tests.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(const CoordinatorOptions& options,
                                                            const Clock& clock, StoreStepHook hook = {});
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

  using Began = std::variant<SubmissionAnswer, std::unique_ptr<Upload>>;
  // With an upload it is to be filled and then given to Submit or GiveUp.
  void BeginUpload(std::string run, SubmissionHeader header, Done<Began> done);
  void Submit(std::string run, std::unique_ptr<Upload> upload, Done<SubmissionAnswer> done);
  // It was refused by its contents or broke off.
  void GiveUp(std::string run, std::unique_ptr<Upload> upload, SubmissionRefusal reason);
  // Of a submission that Submit and BeginUpload have not refused themselves.
  void CountRefusal(SubmissionRefusal reason);

  // The node does not do its task of that round; 0: the present one. RunState::Decline.
  struct Declined {
    std::uint32_t round = 0;
    std::string node;
    std::string boot_id;
    TaskDecline decline;
  };
  void Decline(std::string run, Declined declined, Done<absl::Status> done);

  // Secure aggregation: what a node has done of its step.
  void TakeKeys(std::string run, std::uint32_t round, MaskingKeys keys, Done<absl::Status> done);
  void TakeShares(std::string run, std::uint32_t round, std::string node, std::vector<SealedShare> shares,
                  Done<absl::Status> done);
  void TakeRevealed(std::string run, std::uint32_t round, RevealedShares shares, Done<absl::Status> done);

  void StartRun(std::string config, std::string model, Done<absl::StatusOr<std::string>> done);
  void Pause(std::string run, Done<absl::Status> done);
  void Resume(std::string run, Done<absl::Status> done);
  void StopRun(std::string run, Done<absl::Status> done);
  void RollBack(std::string run, std::uint32_t round, Done<absl::Status> done);
  // The model that `round` (under way) starts from. FailedPrecondition: it is not under way.
  void OpenRoundModel(std::string run, std::uint32_t round, Done<absl::StatusOr<OpenModel>> done);
  // The model after `round`; nullopt: the present one.
  void OpenModelAfter(std::string run, std::optional<std::uint32_t> round,
                      Done<absl::StatusOr<OpenModel>> done);
  // nullopt: the model cannot be judged.
  void AddJudgement(std::string run, std::uint32_t round, std::optional<Judgement> judgement);

  // A parent's run (relay.h). From now on nodes that ask for a run that is not here wait, and `watch` is told
  // the roster as it is and when it has changed: what changes within kRosterRestNs at once, for nodes come
  // and go in crowds.
  static constexpr std::int64_t kRosterRestNs = 250'000'000;
  void AwaitParent(std::function<void(const Roster&)> watch);
  // The parent asks for a round of the run that `config` describes (RelayedRun::Start, BeginRound); another
  // relayed run ends. `done` is called once, with the sum or why there is none.
  void BeginRelayed(std::string config, ParentRound round, std::string model_file, RelayedRun::SumDone done);
  // The round's sum again, without these nodes (RelayedRun::LeaveOut).
  void LeaveOut(std::string run, std::uint32_t round, std::vector<std::string> nodes,
                RelayedRun::SumDone done);
  void EndRelayed(std::string run, std::uint32_t round, absl::Status outcome);
  // Without effect on a run that is this aggregator's own.
  void EndRelayedRun(std::string run);

  RunBoard& board() { return board_; }
  const RunBoard& board() const { return board_; }
  // Connected, and in no run yet.
  const WaitingNodes& waiting() const { return waiting_nodes_; }
  // Streams of nodes, with those that wait.
  std::uint64_t connected() const { return connected_.load(std::memory_order_relaxed); }
  std::uint64_t refused(SubmissionRefusal reason) const {
    return refused_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }
  std::uint64_t declined(DeclineReason reason) const {
    return declined_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }
  // Streams of nodes that were ended at once: beyond a limit, or of no use to the run.
  std::uint64_t refused_streams() const { return refused_streams_.load(std::memory_order_relaxed); }
  // Messages of secure aggregation that could not be taken.
  std::uint64_t refused_steps() const { return refused_steps_.load(std::memory_order_relaxed); }
  std::uint64_t received_bytes() const { return received_bytes_.load(std::memory_order_relaxed); }
  // Whether the store could be written when that was last tried.
  bool healthy() const { return healthy_.load(std::memory_order_relaxed); }

 private:
  using Command = std::function<void()>;
  struct Participant {
    std::string run;  // as asked for; then the one it was given
    NodeDeclaration declaration;
    std::shared_ptr<TaskSink> sink;
    std::optional<NodeTask> told = {};
    bool joined = false;  // otherwise it waits for a run
    WaitingNodes::Place waiting = {};
    std::int64_t since_ns = 0;  // steady
  };
  struct WaitingUpload {
    std::string run;
    SubmissionHeader header;
    Done<Began> done;
  };

  Coordinator(std::unique_ptr<Store> store, const CoordinatorOptions& options, const Clock& clock);

  void Post(Command command);
  std::deque<Command> WaitForCommands(std::stop_token stop);
  void Run(std::stop_token stop);

  // The coordinator's thread only, from here on.
  HostedRun* Find(std::string_view run);
  absl::StatusOr<HostedRun*> FindOrSay(std::string_view run);
  void OnRun(std::string run, Done<absl::Status> done, std::function<absl::Status(HostedRun&)> change);
  void OnMasking(std::string run, Done<absl::Status> done, std::function<absl::Status(HostedRun&)> change);
  RelayedRun* FindRelayed(std::string_view run);
  absl::StatusOr<RelayedRun*> RelayedFor(const std::string& config, const ParentRound& round,
                                         std::string_view model_file);
  void AddRun(std::unique_ptr<HostedRun> run);
  Roster CountRoster();
  void TellRoster();
  void Settle();
  void Tell(Participant& participant);
  TaskNotice NoticeFor(const HostedRun& run, const std::string& node, const NodeTask& task) const;
  void SayThatItCame(const Participant& participant);
  void SayThatItLeft(const Participant& participant);
  // False: its sink was ended.
  bool Assign(Participant& participant);
  absl::StatusOr<std::string> TryStart(const std::string& config, const std::string& model);
  absl::StatusOr<OpenModel> Open(const HostedRun& run, const ModelRecord& record);
  void OpenInTurn(Command open);
  void OpenNext();
  void BeginNext();
  SubmissionAnswer AnswerOf(const Admission& admission);
  Began TryBegin(const std::string& run, const SubmissionHeader& header);
  // The store takes no update at present; it is asked again with the next one.
  void SayStoreRefuses(const HostedRun& run, const absl::Status& status);

  std::unique_ptr<Store> store_;
  const Clock& clock_;
  const RunSurroundings surroundings_;
  std::vector<std::unique_ptr<HostedRun>> runs_;
  std::vector<Participant> participants_;
  std::deque<WaitingUpload> waiting_uploads_;
  std::size_t uploads_ = 0;
  std::deque<Command> waiting_models_;
  std::size_t open_models_ = 0;
  std::function<void(const Roster&)> watch_roster_;  // null: there is no parent
  std::optional<Roster> told_roster_;
  std::int64_t roster_due_ns_ = RunState::kNoDeadline;  // when the present one is told
  bool draining_ = false;
  bool store_refuses_ = false;
  std::int64_t next_store_log_ns_ = 0;
  std::int64_t next_deadline_ns_ = RunState::kNoDeadline;

  LogLimit node_lines_{100, 1'000'000'000};  // nodes come and go in crowds

  RunBoard board_;
  WaitingNodes waiting_nodes_;
  std::atomic<std::uint64_t> connected_ = 0;
  std::array<std::atomic<std::uint64_t>, kSubmissionRefusals> refused_ = {};
  std::array<std::atomic<std::uint64_t>, kDeclineReasons> declined_ = {};
  std::atomic<std::uint64_t> refused_streams_ = 0;
  std::atomic<std::uint64_t> refused_steps_ = 0;
  std::atomic<std::uint64_t> received_bytes_ = 0;
  std::atomic<bool> healthy_ = true;

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Command> commands_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace tributary
