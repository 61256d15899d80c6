#include "aggregator/learning/service/coordinator.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tributary {
namespace {

// What a node needs of the masking for its task.
void AddMasking(const MaskingSession& masking, const std::string& node, TaskNotice& notice) {
  notice.masked = true;
  notice.threshold = masking.threshold();
  if (notice.task.kind == TaskKind::kShareKeys) notice.roster = masking.roster();
  if (notice.task.kind == TaskKind::kTrain) {
    notice.roster = masking.masked_roster();
    notice.shares = masking.SharesFor(node);
  }
  if (notice.task.kind == TaskKind::kUnmask) {
    notice.survivors = masking.survivors();
    notice.dropped = masking.dropped();
  }
}

absl::Status Draining() { return absl::UnavailableError("the aggregator is shutting down"); }

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const CoordinatorOptions& options,
                                                                const Clock& clock, StoreStepHook hook) {
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(options.folder, std::move(hook));
  if (!store.ok()) return store.status();
  auto coordinator = std::unique_ptr<Coordinator>(new Coordinator(*std::move(store), options, clock));
  absl::StatusOr<std::vector<RunRecord>> records = coordinator->store_->Runs();
  if (!records.ok()) return records.status();
  for (const RunRecord& record : *records) {
    absl::StatusOr<std::unique_ptr<HostedRun>> run = HostedRun::Restore(coordinator->surroundings_, record);
    if (!run.ok()) {
      return absl::Status(run.status().code(), fmt::format("{}: run \"{}\": {}", options.folder, record.name,
                                                           std::string(run.status().message())));
    }
    spdlog::info("run {}: goes on after {} committed rounds", record.name, (*run)->state().committed());
    coordinator->board_.Publish((*run)->View());
    coordinator->runs_.push_back(*std::move(run));
  }
  coordinator->thread_ = std::jthread([&coordinator = *coordinator](std::stop_token stop) {
    prctl(PR_SET_NAME, "rounds");
    coordinator.Run(stop);
  });
  return coordinator;
}

Coordinator::Coordinator(std::unique_ptr<Store> store, const CoordinatorOptions& options, const Clock& clock)
    : store_(std::move(store)),
      clock_(clock),
      surroundings_{*store_, clock, options.keep_models, options.judged} {}

Coordinator::~Coordinator() { Stop(); }

void Coordinator::Stop() {
  thread_.request_stop();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Coordinator::Post(Command command) {
  {
    MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  changed_.notify_one();
}

std::deque<Coordinator::Command> Coordinator::WaitForCommands(std::stop_token stop) {
  std::deque<Command> commands;
  MutexLock lock(mutex_);
  const auto due = [this]() REQUIRES(mutex_) { return !commands_.empty(); };
  if (next_deadline_ns_ == RunState::kNoDeadline) {
    changed_.wait(lock, stop, due);
  } else {
    const auto wait =
        std::chrono::nanoseconds(std::max<std::int64_t>(0, next_deadline_ns_ - clock_.SteadyNs()));
    changed_.wait_for(lock, stop, wait, due);
  }
  commands.swap(commands_);
  return commands;
}

void Coordinator::Run(std::stop_token stop) {
  for (;;) {
    const bool stopping = stop.stop_requested();
    const std::deque<Command> commands = WaitForCommands(stop);
    // Each is settled for itself: a round that it completes is committed before the next is looked at.
    if (commands.empty()) Settle();
    for (const Command& command : commands) {
      command();
      Settle();
    }
    if (stopping) return;
  }
}

void Coordinator::Drain() {
  Post([this] {
    draining_ = true;
    for (const Participant& each : participants_) each.sink->OnEnd(Draining());
    participants_.clear();
  });
}

HostedRun* Coordinator::Find(std::string_view run) {
  for (const auto& each : runs_) {
    if (each->name() == run) return each.get();
  }
  return nullptr;
}

absl::StatusOr<HostedRun*> Coordinator::FindOrSay(std::string_view run) {
  if (HostedRun* found = Find(run); found != nullptr) return found;
  return NoSuchRun(run);
}

void Coordinator::Settle() {
  next_deadline_ns_ = RunState::kNoDeadline;
  bool healthy = true;
  for (const auto& run : runs_) {
    next_deadline_ns_ = std::min(next_deadline_ns_, run->Advance());
    healthy = healthy && run->health().ok();
    board_.Publish(run->View());
  }
  healthy_ = healthy && !store_refuses_;
  // A sink that is told may be ended by it.
  for (std::size_t i = 0; i < participants_.size(); ++i) Tell(participants_[i]);
  std::erase_if(participants_, [](const Participant& each) { return each.sink == nullptr; });
  connected_.store(participants_.size(), std::memory_order_relaxed);
  TellRoster();
}

void Coordinator::Tell(Participant& participant) {
  HostedRun* run = Find(participant.run);
  if (run == nullptr) {
    if (!participant.told) {
      TaskNotice notice;
      notice.task.reason = watch_roster_ ? "the parent has not asked for a round" : "no run is active";
      participant.sink->OnTask(std::move(notice));
      participant.told.emplace();
    }
    return;
  }
  if (!run->health().ok()) {
    std::exchange(participant.sink, nullptr)->OnEnd(run->health());
    return;
  }
  NodeTask task = run->TaskOf(participant.declaration.node);
  if (participant.told == task) return;
  participant.sink->OnTask(NoticeFor(*run, participant.declaration.node, task));
  const bool ended = task.kind == TaskKind::kEnded;
  participant.told = std::move(task);
  if (!ended) return;
  std::exchange(participant.sink, nullptr)->OnEnd(absl::OkStatus());
  run->Leave(participant.declaration.node, participant.declaration.boot_id);
}

TaskNotice Coordinator::NoticeFor(const HostedRun& run, const std::string& node, const NodeTask& task) const {
  TaskNotice notice = NoticeOf(run.state(), node, task);
  if (task.deadline_ns != 0 && task.deadline_ns != RunState::kNoDeadline) {
    notice.left_ns = task.deadline_ns - clock_.SteadyNs();
    notice.deadline_unix_ns = clock_.UnixNs() + notice.left_ns;
  }
  notice.model_bytes = run.layout().file_bytes();
  if (const MaskingSession* masking = run.masking()) AddMasking(*masking, node, notice);
  return notice;
}

void Coordinator::OnMasking(std::string run, Done<absl::Status> done,
                            std::function<absl::Status(HostedRun&)> change) {
  OnRun(
      std::move(run),
      [this, done = std::move(done)](const absl::Status& status) {
        if (absl::IsInvalidArgument(status)) ++refused_steps_;
        done(status);
      },
      std::move(change));
}

void Coordinator::TakeKeys(std::string run, std::uint32_t round, MaskingKeys keys, Done<absl::Status> done) {
  OnMasking(std::move(run), std::move(done),
            [round, keys = std::move(keys)](HostedRun& each) { return each.TakeKeys(round, keys); });
}

void Coordinator::TakeShares(std::string run, std::uint32_t round, std::string node,
                             std::vector<SealedShare> shares, Done<absl::Status> done) {
  OnMasking(std::move(run), std::move(done),
            [round, node = std::move(node), shares = std::move(shares)](HostedRun& each) {
              return each.TakeShares(round, node, shares);
            });
}

void Coordinator::TakeRevealed(std::string run, std::uint32_t round, RevealedShares shares,
                               Done<absl::Status> done) {
  OnMasking(std::move(run), std::move(done), [round, shares = std::move(shares)](HostedRun& each) {
    return each.TakeRevealed(round, shares);
  });
}

bool Coordinator::Assign(Participant& participant) {
  if (draining_) {
    participant.sink->OnEnd(Draining());
    return false;
  }
  HostedRun* run = nullptr;
  if (participant.run.empty()) {
    for (const auto& each : runs_) {
      if (run == nullptr && !each->View().ended()) run = each.get();
    }
    if (run == nullptr) return true;  // waits for one
  } else if (run = Find(participant.run); run == nullptr) {
    if (watch_roster_) return true;
    participant.sink->OnEnd(FindOrSay(participant.run).status());
    ++refused_streams_;
    return false;
  }
  participant.run = run->name();
  participant.told.reset();
  absl::Status joined = run->Join(participant.declaration);
  if (!joined.ok()) {
    participant.sink->OnEnd(joined);
    ++refused_streams_;
  }
  participant.joined = joined.ok();
  if (joined.ok()) participant.waiting.reset();
  return joined.ok();
}

void Coordinator::Join(std::string run, NodeDeclaration declaration, std::shared_ptr<TaskSink> sink) {
  Post([this, participant = Participant{std::move(run), std::move(declaration), std::move(sink)}]() mutable {
    if (participants_.size() >= kMaxParticipants) {
      ++refused_streams_;
      return participant.sink->OnEnd(
          absl::ResourceExhaustedError(fmt::format("{} nodes are connected, no more may", kMaxParticipants)));
    }
    if (!Assign(participant)) return;
    const auto same = [&](const Participant& other) {
      return other.run == participant.run && other.declaration.node == participant.declaration.node;
    };
    for (const Participant& other : participants_) {
      if (same(other))
        other.sink->OnEnd(absl::AbortedError("a newer stream of this node has taken its place"));
    }
    std::erase_if(participants_, same);
    participant.since_ns = clock_.SteadyNs();
    if (!participant.joined) {
      const NodeDeclaration& node = participant.declaration;
      participant.waiting = waiting_nodes_.Add({node.node, node.sample_count});
    }
    SayThatItCame(participant);
    participants_.push_back(std::move(participant));
  });
}

void Coordinator::Leave(const std::shared_ptr<TaskSink>& sink) {
  Post([this, sink] {
    const auto found = std::ranges::find(participants_, sink, &Participant::sink);
    if (found == participants_.end()) return;  // ended by us
    SayThatItLeft(*found);
    if (HostedRun* run = Find(found->run)) run->Leave(found->declaration.node, found->declaration.boot_id);
    participants_.erase(found);
  });
}

void Coordinator::Decline(std::string run, Declined declined, Done<absl::Status> done) {
  OnRun(std::move(run), std::move(done), [this, declined = std::move(declined)](HostedRun& each) {
    const absl::StatusOr<bool> news =
        each.Decline(declined.node, declined.boot_id, declined.round, declined.decline);
    if (news.ok() && *news) ++declined_[static_cast<std::size_t>(declined.decline.reason)];
    return news.status();
  });
}

void Coordinator::CountRefusal(SubmissionRefusal reason) {
  refused_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

SubmissionAnswer Coordinator::AnswerOf(const Admission& admission) {
  if (admission.verdict != AdmissionVerdict::kRefused)
    return {true, SubmissionRefusal::kUnspecified, "", false};
  CountRefusal(admission.reason);
  return {false, admission.reason, admission.message, admission.try_again, admission.counted_elsewhere};
}

Coordinator::Began Coordinator::TryBegin(const std::string& name, const SubmissionHeader& header) {
  HostedRun* run = Find(name);
  if (run == nullptr) {
    CountRefusal(SubmissionRefusal::kUnknownRun);
    return SubmissionAnswer{false, SubmissionRefusal::kUnknownRun,
                            std::string(FindOrSay(name).status().message()), false};
  }
  if (!run->health().ok()) {
    CountRefusal(SubmissionRefusal::kStore);
    return SubmissionAnswer{false, SubmissionRefusal::kStore, std::string(run->health().message()), true};
  }
  const Admission admission = run->Admit(header);
  if (admission.verdict != AdmissionVerdict::kGo) return AnswerOf(admission);
  absl::StatusOr<Upload> upload = run->NewUpload(header);
  if (!upload.ok()) {
    run->Withdraw(header, SubmissionRefusal::kStore);
    SayStoreRefuses(*run, upload.status());
    CountRefusal(SubmissionRefusal::kStore);
    return SubmissionAnswer{false, SubmissionRefusal::kStore, std::string(upload.status().message()), true};
  }
  store_refuses_ = false;
  return std::make_unique<Upload>(*std::move(upload));
}

void Coordinator::SayStoreRefuses(const HostedRun& run, const absl::Status& status) {
  constexpr std::int64_t kRepeatLogNs = 10'000'000'000;  // nodes try again all the time
  store_refuses_ = true;
  healthy_ = false;
  const std::int64_t now_ns = clock_.SteadyNs();
  if (now_ns < next_store_log_ns_) return;
  next_store_log_ns_ = now_ns + kRepeatLogNs;
  spdlog::error("run {}: updates cannot be stored, nodes try again: {}", run.name(),
                std::string(status.message()));
}

void Coordinator::BeginUpload(std::string run, SubmissionHeader header, Done<Began> done) {
  Post([this, waiting = WaitingUpload{std::move(run), std::move(header), std::move(done)}]() mutable {
    waiting_uploads_.push_back(std::move(waiting));
    BeginNext();
  });
}

void Coordinator::BeginNext() {
  while (uploads_ < kUploads && !waiting_uploads_.empty()) {
    WaitingUpload next = std::move(waiting_uploads_.front());
    waiting_uploads_.pop_front();
    Began began = TryBegin(next.run, next.header);
    if (std::holds_alternative<std::unique_ptr<Upload>>(began)) ++uploads_;
    next.done(std::move(began));
  }
}

void Coordinator::Submit(std::string name, std::unique_ptr<Upload> given, Done<SubmissionAnswer> done) {
  // A std::function can be copied, an upload cannot.
  Post([this, name = std::move(name), upload = std::shared_ptr<Upload>(std::move(given)),
        done = std::move(done)] {
    --uploads_;
    HostedRun* run = Find(name);
    const std::uint64_t bytes = upload->payload_bytes();
    const SubmissionAnswer answer =
        run->health().ok()
            ? AnswerOf(run->Submit(std::move(*upload)))
            : SubmissionAnswer{false, SubmissionRefusal::kStore, std::string(run->health().message()), true};
    if (answer.accepted) received_bytes_ += bytes;
    done(answer);
    BeginNext();
  });
}

void Coordinator::GiveUp(std::string name, std::unique_ptr<Upload> given, SubmissionRefusal reason) {
  Post([this, name = std::move(name), upload = std::shared_ptr<Upload>(std::move(given)), reason] {
    --uploads_;
    Find(name)->Withdraw(upload->header(), reason);
    BeginNext();
  });
}

}  // namespace tributary
