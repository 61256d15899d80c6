#include "aggregator/learning/service/coordinator.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/service/run_message.h"
#include "aggregator/learning/service/task_message.h"
#include "core/parameters/flat_model.h"
#include "core/status/macros.h"
#include "google/protobuf/util/message_differencer.h"

namespace tributary::learning {
namespace {

absl::Status Draining() { return absl::UnavailableError("the aggregator is shutting down"); }

Admission RefusedBy(SubmissionRefusal reason, std::string message, bool try_again) {
  return {AdmissionVerdict::kRefused, 0, reason, std::move(message), try_again};
}

// What an upload takes of kUploadBytes: its first chunk as a message and as it is kept, one decoded part, and
// itself.
std::size_t MemoryOf(const SubmissionHeader& header) {
  constexpr std::size_t kItself = 8'192;
  const std::size_t elements = std::min<std::uint64_t>(header.element_count, parameters::kMaxChunkBytes);
  const std::size_t chunk =
      std::min(parameters::EncodedBytes(header.encoding, elements), parameters::kMaxChunkBytes);
  return kItself + 2 * chunk + sizeof(float) * std::min(elements, parameters::kElementsPerPart);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const CoordinatorOptions& options,
                                                                const runtime::Clock& clock,
                                                                store::StoreStepHook hook) {
  ASSIGN_OR_RETURN(std::unique_ptr<store::Store> store, store::Store::Open(options.folder, std::move(hook)));
  ASSIGN_OR_RETURN(std::unique_ptr<store::StoreReader> reader, store::StoreReader::Open(options.folder));
  auto coordinator =
      std::unique_ptr<Coordinator>(new Coordinator(std::move(store), std::move(reader), options, clock));
  ASSIGN_OR_RETURN(const std::vector<store::RunRecord> records, coordinator->store_->Runs());
  for (const store::RunRecord& record : records) {
    absl::StatusOr<std::unique_ptr<Run>> run = Run::Restore(coordinator->surroundings_, record);
    if (!run.ok()) {
      return absl::Status(run.status().code(), fmt::format("{}: run \"{}\": {}", options.folder, record.name,
                                                           std::string(run.status().message())));
    }
    spdlog::info("run {}: goes on after {} committed rounds", record.name, (*run)->state().committed());
    coordinator->AddRun(*std::move(run));
  }
  coordinator->thread_.Start("rounds", [&coordinator = *coordinator] { return coordinator.Settle(); });
  return coordinator;
}

Coordinator::Coordinator(std::unique_ptr<store::Store> store, std::unique_ptr<store::StoreReader> reader,
                         const CoordinatorOptions& options, const runtime::Clock& clock)
    : store_(std::move(store)),
      clock_(clock),
      surroundings_{*store_, clock, options.keep_models, options.judged},
      board_(std::make_unique<RunBoard>(std::move(reader))),
      uploads_(kUploadBytes, [this](CommandThread::Command command) { thread_.Post(std::move(command)); }),
      open_models_(kOpenModels, [this](CommandThread::Command command) { thread_.Post(std::move(command)); }),
      thread_(clock) {}

Coordinator::~Coordinator() { Stop(); }

void Coordinator::Stop() { thread_.Stop(); }

void Coordinator::Drain() {
  thread_.Post([this] {
    draining_ = true;
    for (const TaskSink* sink : streams_.All()) Drop(sink, Draining());
  });
}

Coordinator::Hosted* Coordinator::Find(std::string_view run) {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

absl::StatusOr<Run*> Coordinator::FindOrSay(std::string_view run) {
  if (Hosted* found = Find(run)) return found->run.get();
  return NoSuchRun(run);
}

std::int64_t Coordinator::Settle() {
  SubmitArrived();
  std::int64_t next_ns = CommandThread::kNever;
  for (Run* run : order_) {
    const std::int64_t run_ns = run->Advance();
    if (run_ns != kNoDeadline) next_ns = std::min(next_ns, run_ns);
    if (Hosted* hosted = Find(run->name()); hosted->relayed != nullptr) hosted->relayed->GiveUpIfOver();
    Publish(*run);
  }
  CheckHealth();
  counters_.connected.store(streams_.size(), std::memory_order_relaxed);
  const auto roster_ns = parent_roster_.Tell(clock_.SteadyNs(), [this] { return CountRoster(); });
  return roster_ns ? std::min(next_ns, *roster_ns) : next_ns;
}

void Coordinator::SubmitArrived() {
  // By run, in the order of arrival: what is made durable together is of one run.
  std::map<Run*, std::vector<Arrived>> by_run;
  for (Arrived& each : std::exchange(arrived_, {})) {
    by_run[Find(each.run)->run.get()].push_back(std::move(each));
  }
  for (auto& [run, batch] : by_run) {
    std::vector<std::unique_ptr<Upload>> uploads;
    std::vector<std::uint64_t> bytes;
    for (Arrived& each : batch) {
      bytes.push_back(each.begun.upload->payload_bytes());
      uploads.push_back(std::move(each.begun.upload));
    }
    const std::vector<Admission> answers = run->Submit(std::move(uploads));
    Publish(*run);  // whoever is answered may look
    CheckHealth();
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

void Coordinator::CheckHealth() {
  counters_.healthy = std::ranges::all_of(
      order_, [](const Run* run) { return run->health().ok() && run->journal().takes_updates(); });
}

void Coordinator::Publish(Run& run) {
  const ChangedNodes changed = run.TakeChangedNodes();
  const bool nodes = changed.everyone || !changed.nodes.empty();
  if (!run.TakeChanged() && !nodes) return;
  std::vector<v1::Participant> participants;
  if (changed.everyone) {
    for (const ParticipantStatus& each : run.state().roster().Statuses()) {
      participants.push_back(ParticipantMessage(each));
    }
  }
  for (const std::string& node : changed.nodes) {
    if (const Roster::Node* known = run.state().roster().Find(node)) {
      participants.push_back(ParticipantMessage(known->status));
    }
  }
  board_->Publish(RecordOf(run), std::move(participants));
  if (run.relayed()) parent_roster_.Touch(clock_.SteadyNs());
  Tell(run, changed);
}

void Coordinator::Tell(Run& run, const ChangedNodes& changed) {
  if (changed.everyone || !run.health().ok()) {
    for (const TaskSink* sink : streams_.Of(run.name())) Tell(run, sink);
    return;
  }
  for (const std::string& node : changed.nodes) {
    if (NodeStream* stream = streams_.Find(run.name(), node)) Tell(run, stream->sink.get());
  }
}

void Coordinator::Tell(Run& run, const TaskSink* sink) {
  NodeStream& stream = *streams_.Find(sink);
  if (!stream.joined) return;
  if (!run.health().ok()) return Drop(sink, run.health());
  NodeTask task = run.state().TaskOf(stream.declaration.node);
  if (stream.told == task) return;
  const bool ended = task.kind == TaskKind::kEnded;
  stream.sink->OnTask(TaskMessage(run.state(), run.model().layout().file_bytes(), run.masking(),
                                  stream.declaration.node, task, clock_));
  stream.told = std::move(task);
  if (!ended) return;
  run.Leave(stream.declaration.node, stream.declaration.boot_id);
  Drop(sink, absl::OkStatus());
}

void Coordinator::Drop(const TaskSink* sink, absl::Status why) {
  const NodeStream dropped = streams_.Remove(sink);
  parent_roster_.Touch(clock_.SteadyNs());
  dropped.sink->OnEnd(std::move(why));
}

void Coordinator::Assign(NodeStream stream) {
  if (draining_) return stream.sink->OnEnd(Draining());
  Run* run = nullptr;
  if (stream.run.empty()) {
    for (Run* each : order_) {
      const RunPhase phase = each->state().phase();
      const bool over = phase == RunPhase::kFinished || phase == RunPhase::kStopped;
      if (run == nullptr && !over && each->health().ok()) run = each;
    }
  } else if (Hosted* hosted = Find(stream.run)) {
    run = hosted->run.get();
  } else if (!parent_roster_.started()) {
    ++counters_.refused_streams;
    return stream.sink->OnEnd(NoSuchRun(stream.run));
  }
  if (run != nullptr) {
    if (absl::Status status = run->Join(stream.declaration); !status.ok()) {
      ++counters_.refused_streams;
      return stream.sink->OnEnd(std::move(status));
    }
    stream.run = run->name();
    stream.joined = true;
    stream.waiting.reset();
  }
  if (const NodeStream* older = streams_.Find(stream.run, stream.declaration.node)) {
    Drop(older->sink.get(), absl::AbortedError("a newer stream of this node has taken its place"));
  }
  parent_roster_.Touch(clock_.SteadyNs());
  NodeStream& added = streams_.Add(std::move(stream));
  if (run != nullptr) return;  // it is told with all whom the change concerns
  if (added.told) return;
  const NodeDeclaration& node = added.declaration;
  added.waiting = waiting_nodes_.Add({node.node, node.sample_count});
  added.told.emplace();
  added.sink->OnTask(
      WaitMessage(parent_roster_.started() ? "the parent has not asked for a round" : "no run is active"));
}

void Coordinator::Join(std::string run, NodeDeclaration declaration, std::shared_ptr<TaskSink> sink) {
  thread_.Post([this,
                stream = NodeStream{std::move(run), std::move(declaration), std::move(sink)}]() mutable {
    if (streams_.size() >= kMaxParticipants) {
      ++counters_.refused_streams;
      return stream.sink->OnEnd(
          absl::ResourceExhaustedError(fmt::format("{} nodes are connected, no more may", kMaxParticipants)));
    }
    stream.since_ns = clock_.SteadyNs();
    const TaskSink* const joining = stream.sink.get();
    Assign(std::move(stream));
    if (const NodeStream* added = streams_.Find(joining)) SayThatItCame(*added);
  });
}

void Coordinator::Leave(const std::shared_ptr<TaskSink>& sink) {
  thread_.Post([this, sink] {
    if (streams_.Find(sink.get()) == nullptr) return;  // ended by us
    const NodeStream left = streams_.Remove(sink.get());
    SayThatItLeft(left);
    parent_roster_.Touch(clock_.SteadyNs());
    if (Hosted* hosted = Find(left.run); hosted != nullptr && left.joined) {
      hosted->run->Leave(left.declaration.node, left.declaration.boot_id);
    }
  });
}

void Coordinator::BeginUpload(std::string run, SubmissionHeader header, Done<Began> done) {
  thread_.Post([this, run = std::move(run), header = std::move(header), done = std::move(done)]() mutable {
    const std::size_t memory = MemoryOf(header);
    uploads_.Enter(memory, [this, run = std::move(run), header = std::move(header),
                            done = std::move(done)](Gate::Place place) {
      Hosted* hosted = Find(run);
      if (hosted == nullptr) {
        counters_.CountRefused(SubmissionRefusal::kUnknownRun);
        return done(RefusedBy(SubmissionRefusal::kUnknownRun, std::string(NoSuchRun(run).message()), false));
      }
      Admission admission = hosted->run->Admit(header);
      if (admission.verdict == AdmissionVerdict::kGo) {
        return done(BegunUpload{hosted->run->NewUpload(header), std::move(place)});
      }
      if (admission.verdict == AdmissionVerdict::kRefused) counters_.CountRefused(admission.reason);
      done(std::move(admission));
    });
  });
}

void Coordinator::Submit(std::string run, BegunUpload begun, Done<const Admission&> done) {
  // A std::function can be copied, an upload cannot.
  thread_.Post([this, arrived = std::make_shared<Arrived>(
                          Arrived{std::move(run), std::move(begun), std::move(done)})] {
    arrived_.push_back(std::move(*arrived));
  });
}

void Coordinator::GiveUp(std::string run, BegunUpload begun, SubmissionRefusal reason) {
  thread_.Post([this, run = std::move(run), reason, begun = std::make_shared<BegunUpload>(std::move(begun))] {
    Find(run)->run->Withdraw(begun->upload->header(), reason);
  });
}

void Coordinator::Change(std::string name, std::function<absl::Status(Run&)> change,
                         Done<absl::Status> done) {
  thread_.Post([this, name = std::move(name), change = std::move(change), done = std::move(done)] {
    const absl::StatusOr<Run*> run = FindOrSay(name);
    const absl::Status status = run.ok() ? change(**run) : run.status();
    if (run.ok()) Publish(**run);  // whoever is told looks next
    done(status);
  });
}

void Coordinator::Decline(std::string run, DeclineCall call, Done<absl::Status> done) {
  const auto decline = [this, call = std::move(call)](Run& each) {
    const absl::StatusOr<bool> news = each.Decline(call.node, call.boot_id, call.round, call.decline);
    if (news.ok() && *news) ++counters_.declined[static_cast<std::size_t>(call.decline.reason)];
    return news.status();
  };
  Change(std::move(run), decline, std::move(done));
}

void Coordinator::Take(std::string run, MaskingMessage message, Done<absl::Status> done) {
  const auto take = [this, message = std::move(message)](Run& each) {
    absl::Status status = each.Take(message);
    if (absl::IsInvalidArgument(status)) ++counters_.refused_steps;
    return status;
  };
  Change(std::move(run), take, std::move(done));
}

void Coordinator::AddEvaluation(std::string run, std::uint32_t round,
                                std::optional<v1::Evaluation> evaluation) {
  const auto add = [round, evaluation = std::move(evaluation)](Run& each) {
    each.AddEvaluation(round, evaluation);
    return absl::OkStatus();
  };
  Change(std::move(run), add, [](const absl::Status&) {});
}

void Coordinator::StartRun(std::string config, std::string model, Done<absl::StatusOr<std::string>> done) {
  thread_.Post([this, config = std::move(config), model = std::move(model), done = std::move(done)] {
    done(TryStart(config, model));
  });
}

absl::StatusOr<std::string> Coordinator::TryStart(const std::string& config, const std::string& model) {
  ASSIGN_OR_RETURN(const RunConfig parsed, ParseRunConfig(config, "run"));
  if (const Hosted* present = Find(parsed.name)) {
    absl::StatusOr<parameters::FlatModel> given = parameters::DecodeFlatModel(model);
    if (!given.ok()) return absl::InvalidArgumentError(given.status().message());
    const std::string sha =
        parameters::BytesOf(parameters::FlatIdentity(given->layout.tensors, given->values));
    const absl::StatusOr<store::ModelRecord> initial = store_->Model(parsed.name, 0);
    if (*present->run->config_text() == config && initial.ok() && initial->sha256 == sha) return parsed.name;
    return absl::AlreadyExistsError(
        fmt::format("there is a run \"{}\" with another configuration or model: give this one another name",
                    parsed.name));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Run> run, Run::Start(surroundings_, config, model));
  spdlog::info("run {}: started, {} parameters", parsed.name, run->model().layout().element_count);
  AddRun(std::move(run));
  return parsed.name;
}

Run& Coordinator::AddRun(std::unique_ptr<Run> run) {
  Run& added = *run;
  Hosted& hosted = runs_[added.name()];
  hosted.run = std::move(run);
  if (added.relayed()) hosted.relayed = std::make_unique<RelayedRun>(added);
  order_.push_back(&added);
  Publish(added);
  // Nodes that waited for a run.
  for (const TaskSink* sink : streams_.Waiting()) Assign(streams_.Remove(sink));
  Publish(added);
  return added;
}

absl::StatusOr<OpenModel> Coordinator::Open(const Run& run, const store::ModelRecord& record,
                                            Gate::Place place) {
  ASSIGN_OR_RETURN(store::CheckedReader file, store_->Read(record.file));
  return OpenModel{record, record.round == run.journal().model().round, std::move(file), std::move(place)};
}

void Coordinator::OpenRoundModel(std::string name, std::uint32_t round,
                                 Done<absl::StatusOr<OpenModel>> done) {
  const auto open = [this, name = std::move(name), round,
                     done](const Gate::Place& place) -> absl::StatusOr<OpenModel> {
    ASSIGN_OR_RETURN(const Run* run, FindOrSay(name));
    if (run->state().round() == round) return Open(*run, run->journal().model(), place);
    return absl::FailedPreconditionError(
        fmt::format("round: {} is not under way in run \"{}\", {} is", round, name, run->state().round()));
  };
  thread_.Post([this, open, done] {
    open_models_.Enter(1, [open, done](const Gate::Place& place) { done(open(place)); });
  });
}

void Coordinator::OpenModelAfter(std::string name, std::optional<std::uint32_t> round,
                                 Done<absl::StatusOr<OpenModel>> done) {
  const auto open = [this, name = std::move(name),
                     round](const Gate::Place& place) -> absl::StatusOr<OpenModel> {
    ASSIGN_OR_RETURN(const Run* run, FindOrSay(name));
    if (!round) return Open(*run, run->journal().model(), place);
    ASSIGN_OR_RETURN(const store::ModelRecord record, store_->Model(name, *round));
    return Open(*run, record, place);
  };
  thread_.Post([this, open, done = std::move(done)] {
    open_models_.Enter(1, [open, done](const Gate::Place& place) { done(open(place)); });
  });
}

void Coordinator::AwaitParent(ParentRoster::Watch watch) {
  thread_.Post([this, watch = std::move(watch)] { parent_roster_.Start(watch); });
}

RosterSize Coordinator::CountRoster() {
  RosterSize roster;
  for (const TaskSink* sink : streams_.All()) {
    const NodeStream& stream = *streams_.Find(sink);
    const Hosted* hosted = stream.joined ? Find(stream.run) : nullptr;
    const bool available = hosted == nullptr || (hosted->relayed != nullptr &&
                                                 !hosted->run->state().CannotTrain(stream.declaration.node));
    if (!available || stream.declaration.sample_count == 0) continue;
    ++roster.nodes;
    roster.sample_count += stream.declaration.sample_count;
  }
  return roster;
}

namespace {

// Whether nodes are told the same: all that a relayed run takes from its parent.
bool SameForNodes(const RunConfig& a, const RunConfig& b) {
  return a.rounds == b.rounds && static_cast<float>(a.max_element) == static_cast<float>(b.max_element) &&
         google::protobuf::util::MessageDifferencer::Equals(a.client, b.client);
}

}  // namespace

absl::StatusOr<Coordinator::Hosted*> Coordinator::RelayedFor(const RunConfig& config,
                                                             const ParentRound& round,
                                                             std::string_view model_file) {
  Hosted* hosted = Find(config.name);
  if (hosted != nullptr && hosted->relayed == nullptr) {
    return absl::AlreadyExistsError(fmt::format("this aggregator has a run \"{}\" of its own", config.name));
  }
  if (hosted != nullptr && !SameForNodes(hosted->run->state().config(), config)) {
    return absl::AlreadyExistsError(
        fmt::format("the parent's run \"{}\" was another one before: give it another name", config.name));
  }
  for (auto& [name, other] : runs_) {
    if (other.relayed != nullptr && name != config.name) other.run->EndRelayed();
  }
  if (hosted != nullptr) return hosted;
  ASSIGN_OR_RETURN(std::unique_ptr<Run> run, Run::StartRelayed(surroundings_, config, model_file, round));
  spdlog::info("run {}: relayed for the parent, {} parameters", config.name,
               run->model().layout().element_count);
  AddRun(std::move(run));
  return Find(config.name);
}

void Coordinator::BeginRelayed(RunConfig config, ParentRound round, std::string model_file,
                               RelayedRun::SumDone done) {
  thread_.Post(
      [this, config = std::move(config), round, model_file = std::move(model_file), done = std::move(done)] {
        const absl::StatusOr<Hosted*> hosted = RelayedFor(config, round, model_file);
        const absl::Status status =
            hosted.ok() ? (*hosted)->relayed->BeginRound(round, model_file, done) : hosted.status();
        if (!status.ok()) done(status);
      });
}

void Coordinator::OnRelayed(std::string run, std::function<void(RelayedRun&, Run&)> act,
                            std::function<void()> missing) {
  thread_.Post([this, run = std::move(run), act = std::move(act), missing = std::move(missing)] {
    Hosted* hosted = Find(run);
    if (hosted != nullptr && hosted->relayed != nullptr) {
      act(*hosted->relayed, *hosted->run);
    } else if (missing) {
      missing();
    }
  });
}

void Coordinator::SayThatItCame(const NodeStream& stream) {
  const auto more = node_lines_.Admit(clock_.SteadyNs());
  if (!more) return;
  const NodeDeclaration& node = stream.declaration;
  spdlog::info("node \"{}\" takes part with {} samples, {}{}", node.node, node.sample_count,
               stream.joined ? fmt::format("in run {}", stream.run) : "and waits for a run", *more);
}

void Coordinator::SayThatItLeft(const NodeStream& stream) {
  const std::int64_t now_ns = clock_.SteadyNs();
  const auto more = node_lines_.Admit(now_ns);
  if (!more) return;
  spdlog::info("node \"{}\" takes no more part{} after {:.1f} s: its stream of tasks ended{}",
               stream.declaration.node, stream.joined ? fmt::format(" in run {}", stream.run) : "",
               1e-9 * static_cast<double>(now_ns - stream.since_ns), *more);
}

}  // namespace tributary::learning
