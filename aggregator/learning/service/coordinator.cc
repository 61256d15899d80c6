#include "aggregator/learning/service/coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/status/macros.h"

namespace tributary::learning {
namespace {

// What an upload takes of kUploadBytes: its first chunk as a message and as it is kept, one decoded part, and
// itself.
std::size_t MemoryOf(const v1::UpdateHeader& header) {
  constexpr std::size_t kItself = 8'192;
  const std::size_t elements = std::min<std::uint64_t>(header.element_count(), parameters::kMaxChunkBytes);
  const std::size_t chunk =
      std::min(parameters::EncodedBytes(EncodingOf(header), elements), parameters::kMaxChunkBytes);
  return kItself + header.SpaceUsedLong() + 2 * chunk +
         sizeof(float) * std::min(elements, parameters::kElementsPerPart);
}

}  // namespace

Coordinator::Coordinator(std::unique_ptr<HostedRuns> runs, const HostingOptions& options,
                         const runtime::Clock& clock)
    : runs_(std::move(runs)),
      nodes_(*runs_, counters_, clock),
      uploads_(kUploadBytes, thread_, clock),
      open_models_(kOpenModels, thread_, clock),
      model_budget_(options.max_model_bytes),
      chunk_time_(options.chunk_time),
      clock_(clock),
      thread_(clock) {}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const HostingOptions& options,
                                                                const runtime::Clock& clock,
                                                                store::StoreStepHook hook) {
  ASSIGN_OR_RETURN(std::unique_ptr<HostedRuns> runs, HostedRuns::Open(options, clock, std::move(hook)));
  auto coordinator = std::unique_ptr<Coordinator>(new Coordinator(std::move(runs), options, clock));
  coordinator->thread_.Start("rounds", [&coordinator = *coordinator] { return coordinator.Settle(); });
  return coordinator;
}

std::int64_t Coordinator::Settle() {
  SubmitArrived();
  RunSchedule& schedule = runs_->schedule();
  for (Run* each : schedule.Take(clock_.SteadyNs())) {
    schedule.SetDue(*each, each->Advance());
    if (each->relayed() != nullptr) each->relayed()->AnswerIfOver();
    if (Publish(*each)) schedule.Touch(*each);  // nodes that were told may have left
  }
  counters_.healthy = runs_->healthy();
  const std::int64_t next_ns = std::min({schedule.next_ns(), uploads_.Expire(), open_models_.Expire()});
  return std::min(next_ns, nodes_.TellParent().value_or(CommandThread::kNever));
}

void Coordinator::SubmitArrived() {
  // By run, in the order of arrival: what is made durable together is of one run.
  std::map<Run*, std::vector<Arrived>> by_run;
  for (Arrived& each : std::exchange(arrived_, {})) {
    by_run[runs_->Find(each.run)].push_back(std::move(each));
  }
  for (auto& [run, batch] : by_run) {
    if (run == nullptr) {  // deleted meanwhile
      for (Arrived& each : batch) {
        counters_.CountRefused(v1::SUBMIT_REFUSAL_UNKNOWN_RUN);
        each.done(
            Admission::Refused(v1::SUBMIT_REFUSAL_UNKNOWN_RUN, "there is no run \"{}\" any more", each.run));
      }
      continue;
    }
    std::vector<std::unique_ptr<Upload>> uploads;
    std::vector<std::uint64_t> bytes;
    for (Arrived& each : batch) {
      bytes.push_back(each.begun.upload->payload_bytes());
      uploads.push_back(std::move(each.begun.upload));
    }
    const std::vector<Admission> answers = run->Submit(std::move(uploads));
    Publish(*run);  // whoever is answered may look
    counters_.healthy = runs_->healthy();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (answers[i].verdict == AdmissionVerdict::kRefused) {
        counters_.CountRefused(answers[i].reason);
      } else {
        counters_.received_bytes += bytes[i];
      }
      batch[i].done(answers[i]);
    }
  }
}

bool Coordinator::Publish(Run& run) {
  const auto changed = runs_->Publish(run);
  if (changed) nodes_.Tell(run, *changed);
  return changed.has_value();
}

void Coordinator::Drain() {
  thread_.Post([this] { nodes_.Drain(); });
}

void Coordinator::Join(v1::ParticipateRequest declaration, std::shared_ptr<TaskSink> sink) {
  thread_.Post([this, declaration = std::move(declaration), sink = std::move(sink)] {
    nodes_.Join(declaration, sink);
  });
}

void Coordinator::Leave(std::shared_ptr<TaskSink> sink) {
  thread_.Post([this, sink = std::move(sink)] { nodes_.Leave(sink.get()); });
}

void Coordinator::BeginUpload(std::string run, std::string owner, v1::UpdateHeader header, Done<Began> done) {
  const std::size_t memory = MemoryOf(header);
  uploads_.Enter(std::move(owner), memory,
                 [this, run = std::move(run), header = std::move(header),
                  done = std::move(done)](std::optional<Gate::Place> place) {
                   if (!place) {
                     counters_.CountRefused(v1::SUBMIT_REFUSAL_BUSY);
                     return done(Admission::TryAgain(v1::SUBMIT_REFUSAL_BUSY,
                                                     "too many uploads at once; come back in {} s",
                                                     Gate::kPatience.count()));
                   }
                   const absl::StatusOr<Run*> found = runs_->Get(run);
                   Admission admission = found.ok()
                                             ? (*found)->Admit(header)
                                             : Admission::Refused(v1::SUBMIT_REFUSAL_UNKNOWN_RUN, "{}",
                                                                  std::string(found.status().message()));
                   if (admission.verdict == AdmissionVerdict::kGo) {
                     return done(BegunUpload{(*found)->NewUpload(header), *std::move(place)});
                   }
                   if (admission.verdict == AdmissionVerdict::kRefused)
                     counters_.CountRefused(admission.reason);
                   done(std::move(admission));
                 });
}

void Coordinator::Submit(std::string run, BegunUpload begun, Done<const Admission&> done) {
  // A std::function can be copied, an upload cannot.
  thread_.Post([this, arrived = std::make_shared<Arrived>(
                          Arrived{std::move(run), std::move(begun), std::move(done)})] {
    arrived_.push_back(std::move(*arrived));
  });
}

void Coordinator::GiveUp(std::string run, BegunUpload begun, v1::SubmitRefusal reason) {
  thread_.Post([this, run = std::move(run), reason, begun = std::make_shared<BegunUpload>(std::move(begun))] {
    if (Run* of = runs_->Find(run)) of->Withdraw(begun->upload->header(), reason);
  });
}

void Coordinator::StartRun(std::string config, std::string model, Done<absl::StatusOr<std::string>> done) {
  thread_.Post([this, config = std::move(config), model = std::move(model), done = std::move(done)] {
    const absl::StatusOr<Run*> run = runs_->Start(config, model);
    if (!run.ok()) return done(run.status());
    nodes_.AssignWaiting();
    Publish(**run);  // whoever is told looks next
    done((*run)->name());
  });
}

void Coordinator::Change(std::string name, std::function<absl::Status(Run&)> change,
                         Done<absl::Status> done) {
  thread_.Post([this, name = std::move(name), change = std::move(change), done = std::move(done)] {
    Run* const found = runs_->Find(name);
    const bool failed = found != nullptr && !found->health().ok() && found->relayed() == nullptr;
    if (failed) Publish(*found);  // its nodes leave
    const absl::StatusOr<Run*> run = failed ? runs_->Recover(*found) : runs_->Get(name);
    const absl::Status status = run.ok() ? change(**run) : run.status();
    if (failed && run.ok()) nodes_.AssignWaiting();
    if (run.ok()) Publish(**run);  // whoever is told looks next
    done(status);
  });
}

void Coordinator::DeleteRun(std::string run, Done<absl::Status> done) {
  thread_.Post([this, run = std::move(run), done = std::move(done)] {
    if (Run* const last = runs_->Find(run)) Publish(*last);  // a node that has just joined is told of the end
    done(runs_->Delete(run));
  });
}

void Coordinator::Post(std::function<void(HostedRuns&, Attendance&)> command) {
  thread_.Post([this, command = std::move(command)] { command(*runs_, nodes_); });
}

void Coordinator::AddEvaluation(std::string run, std::uint32_t round,
                                std::optional<v1::Evaluation> evaluation) {
  thread_.Post([this, run = std::move(run), round, evaluation = std::move(evaluation)] {
    Run* const judged = runs_->Find(run);
    if (judged == nullptr) return;
    judged->AddEvaluation(round, evaluation);
    Publish(*judged);
  });
}

void Coordinator::OpenRoundModel(std::string run, std::string owner, std::string node, std::uint32_t round,
                                 Done<absl::StatusOr<OpenModel>> done) {
  const auto which = [node = std::move(node), round](const Run& of) -> absl::StatusOr<store::ModelRecord> {
    if (of.state().round() != round) {
      return absl::FailedPreconditionError(fmt::format("round: {} is not under way in run \"{}\", {} is",
                                                       round, of.name(), of.state().round()));
    }
    if (of.state().TaskOf(node).kind != TaskKind::kTrain) {
      return absl::FailedPreconditionError(
          fmt::format("node: \"{}\" does not train in round {} of run \"{}\"", node, round, of.name()));
    }
    return of.journal().model();
  };
  Open(std::move(run), std::move(owner), which, std::move(done));
}

void Coordinator::OpenModelAfter(std::string run, std::optional<std::uint32_t> round,
                                 Done<absl::StatusOr<OpenModel>> done) {
  const auto which = [this, round](const Run& of) -> absl::StatusOr<store::ModelRecord> {
    if (!round) return of.journal().model();
    return runs_->store().Model(of.name(), *round);
  };
  Open(std::move(run), "", which, std::move(done));
}

void Coordinator::Open(std::string name, std::string owner, WhichModel which,
                       Done<absl::StatusOr<OpenModel>> done) {
  const auto open = [this, name = std::move(name),
                     which = std::move(which)](const Gate::Place& place) -> absl::StatusOr<OpenModel> {
    ASSIGN_OR_RETURN(const Run* run, runs_->Get(name));
    ASSIGN_OR_RETURN(const store::ModelRecord record, which(*run));
    ASSIGN_OR_RETURN(store::CheckedReader file, runs_->store().Read(record.file));
    return OpenModel{record, record.round == run->journal().model().round, std::move(file), place};
  };
  open_models_.Enter(
      std::move(owner), 1, [open, done = std::move(done)](const std::optional<Gate::Place>& place) {
        if (place) return done(open(*place));
        done(absl::ResourceExhaustedError(
            fmt::format("too many models are being read; come back in {} s", Gate::kPatience.count())));
      });
}

}  // namespace tributary::learning
