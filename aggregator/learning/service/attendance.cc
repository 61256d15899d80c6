#include "aggregator/learning/service/attendance.h"

#include <fmt/format.h>

#include <memory>

#include "aggregator/learning/service/federation_wire.h"
#include "core/runtime/log.h"

namespace tributary::learning {
namespace {

// A parent is told at once what changes within this time: nodes come and go in crowds.
constexpr std::int64_t kRosterRestNs = 250'000'000;

absl::Status Draining() { return absl::UnavailableError("the aggregator is shutting down"); }

}  // namespace

void Attendance::Join(v1::ParticipateRequest declaration, std::shared_ptr<TaskSink> sink) {
  Stream stream{std::move(declaration), std::move(sink), clock_.SteadyNs()};
  if (streams_.size() >= kMaxNodes) {
    return Refuse(
        stream, absl::ResourceExhaustedError(fmt::format("{} nodes are connected, no more may", kMaxNodes)));
  }
  const Stream* added = Assign(std::move(stream));
  if (added == nullptr) return;
  const auto more = lines_.Admit(clock_.SteadyNs());
  if (!more) return;
  runtime::LogInfo("node \"{}\" takes part with {} samples, {}{}", added->declaration.node(),
                   added->declaration.sample_count(),
                   added->joined ? fmt::format("in run {}", added->declaration.run()) : "and waits for a run",
                   *more);
}

void Attendance::Leave(const TaskSink* sink) {
  if (!by_sink_.contains(sink)) return;  // ended by us
  const Stream left = Remove(sink);
  const v1::ParticipateRequest& node = left.declaration;
  const std::int64_t now_ns = clock_.SteadyNs();
  if (const auto more = lines_.Admit(now_ns)) {
    runtime::LogInfo("node \"{}\" takes no more part{} after {:.1f} s: its stream of tasks ended{}",
                     node.node(), left.joined ? fmt::format(" in run {}", node.run()) : "",
                     1e-9 * static_cast<double>(now_ns - left.since_ns), *more);
  }
  Run* run = left.joined ? runs_.Find(node.run()) : nullptr;
  if (run != nullptr) run->Leave(node.node(), node.boot_id());
}

void Attendance::Drain() {
  draining_ = true;
  while (!streams_.empty()) Drop(by_sink_.begin()->first, Draining());
}

Attendance::Stream Attendance::Remove(const TaskSink* sink) {
  {
    const runtime::MutexLock lock(mutex_);
    waiting_.erase(sink);
    counters_.waiting = waiting_.size();
  }
  const Stream& stream = *by_sink_.extract(sink).mapped();
  Stream removed =
      std::move(streams_.extract({stream.declaration.run(), stream.declaration.node()}).mapped());
  counters_.connected = streams_.size();
  TouchRoster();
  return removed;
}

void Attendance::Drop(const TaskSink* sink, absl::Status why) { Remove(sink).sink->OnEnd(std::move(why)); }

void Attendance::Refuse(const Stream& stream, absl::Status why) {
  ++counters_.refused_streams;
  stream.sink->OnEnd(std::move(why));
}

Run* Attendance::RunFor(const Stream& stream) {
  const v1::ParticipateRequest& node = stream.declaration;
  return node.run().empty() ? runs_.ActiveFor(node.node()) : runs_.Find(node.run());
}

const Attendance::Stream* Attendance::Assign(Stream stream) {
  if (draining_) {
    stream.sink->OnEnd(Draining());
    return nullptr;
  }
  Run* run = RunFor(stream);
  absl::Status status;
  if (run != nullptr) {
    stream.declaration.set_run(run->name());
    status = run->Join(stream.declaration);
    stream.joined = true;
  } else if (!stream.declaration.run().empty() && !parent_.watch) {
    status = NoSuchRun(stream.declaration.run());
  }
  if (!status.ok()) {
    Refuse(stream, std::move(status));
    return nullptr;
  }
  Key key(stream.declaration.run(), stream.declaration.node());
  if (const auto older = streams_.find(key); older != streams_.end()) {
    Drop(older->second.sink.get(),
         absl::AbortedError(fmt::format("a newer stream of node \"{}\" has taken its place; if two processes "
                                        "have this name, give each a name of its own",
                                        key.second)));
  }
  Stream& added = streams_.emplace(std::move(key), std::move(stream)).first->second;
  by_sink_.emplace(added.sink.get(), &added);
  counters_.connected = streams_.size();
  TouchRoster();
  if (run == nullptr) LetWait(added);  // otherwise it is told with all whom the change concerns
  return &added;
}

void Attendance::LetWait(Stream& stream) {
  {
    const runtime::MutexLock lock(mutex_);
    waiting_[stream.sink.get()] = stream.declaration;
    counters_.waiting = waiting_.size();
  }
  stream.told.emplace();
  stream.sink->OnTask(
      WaitMessage(parent_.watch ? "the parent has not asked for a round" : "no run for this node is active"));
}

void Attendance::AssignWaiting() {
  std::vector<const TaskSink*> waiting;
  for (const auto& [key, stream] : streams_) {
    if (!stream.joined && RunFor(stream) != nullptr) waiting.push_back(stream.sink.get());
  }
  for (const TaskSink* sink : waiting) {
    // Not one whose place another stream of the node has just taken.
    if (by_sink_.contains(sink)) Assign(Remove(sink));
  }
}

void Attendance::Tell(Run& run, const ChangedNodes& changed) {
  if (run.relayed() != nullptr) TouchRoster();
  if (changed.everyone || !run.health().ok()) {
    auto each = streams_.lower_bound({run.name(), ""});
    while (each != streams_.end() && each->second.declaration.run() == run.name())
      Tell(run, (each++)->second);
    return;
  }
  for (const std::string& node : changed.nodes) {
    if (const auto stream = streams_.find({run.name(), node}); stream != streams_.end()) {
      Tell(run, stream->second);
    }
  }
}

void Attendance::Tell(Run& run, Stream& stream) {
  if (!stream.joined) return;
  if (!run.health().ok()) return Drop(stream.sink.get(), run.health());
  const v1::ParticipateRequest& node = stream.declaration;
  NodeTask task = run.state().TaskOf(node.node());
  if (stream.told == task) return;
  stream.sink->OnTask(
      TaskMessage(run.state(), run.model().layout().file_bytes(), run.masking(), node.node(), task, clock_));
  stream.told = std::move(task);
  if (stream.told->kind != TaskKind::kEnded) return;
  run.Leave(node.node(), node.boot_id());
  Drop(stream.sink.get(), absl::OkStatus());
}

void Attendance::TouchRoster() {
  if (parent_.watch && !parent_.due_ns) parent_.due_ns = clock_.SteadyNs() + kRosterRestNs;
}

std::optional<std::int64_t> Attendance::TellParent() {
  if (!parent_.due_ns || clock_.SteadyNs() < *parent_.due_ns) return parent_.due_ns;
  parent_.due_ns.reset();
  const RosterSize roster = CountRoster();
  if (parent_.told != roster) parent_.watch(roster);
  parent_.told = roster;
  return std::nullopt;
}

RosterSize Attendance::CountRoster() {
  RosterSize roster;
  for (const auto& [key, stream] : streams_) {
    Run* run = stream.joined ? runs_.Find(stream.declaration.run()) : nullptr;
    const bool available =
        run == nullptr || (run->relayed() != nullptr && !run->state().CannotTrain(stream.declaration.node()));
    if (!available || stream.declaration.sample_count() == 0) continue;
    ++roster.nodes;
    roster.sample_count += stream.declaration.sample_count();
  }
  return roster;
}

std::vector<v1::ParticipateRequest> Attendance::Waiting() const {
  const runtime::MutexLock lock(mutex_);
  std::vector<v1::ParticipateRequest> nodes;
  for (const auto& [sink, node] : waiting_) nodes.push_back(node);
  return nodes;
}

}  // namespace tributary::learning
