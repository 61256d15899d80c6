#include "aggregator/learning/service/hosted_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/run/run_opening.h"
#include "aggregator/store/store_folder.h"
#include "core/parameters/flat_model.h"
#include "core/runtime/log.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "google/protobuf/util/message_differencer.h"

namespace tributary::learning {
namespace {

// Whether nodes are told the same: all that a relayed run takes from its parent.
bool SameForNodes(const RunConfig& a, const RunConfig& b) {
  return a.rounds == b.rounds && static_cast<float>(a.max_element) == static_cast<float>(b.max_element) &&
         google::protobuf::util::MessageDifferencer::Equals(a.client, b.client);
}

// Cannot go on any more: a run that has ended, or has an error of the store, stays so.
bool IsOver(const Run* run) { return run->state().ended() || !run->health().ok(); }

}  // namespace

HostedRuns::HostedRuns(std::unique_ptr<store::Store> store, std::unique_ptr<store::StoreReader> reader,
                       const HostingOptions& options, const runtime::Clock& clock)
    : store_(std::move(store)),
      surroundings_{*store_, clock, options.keep_models, options.judged},
      max_runs_(options.max_runs),
      board_(std::move(reader), options.max_runs) {}

absl::StatusOr<std::unique_ptr<HostedRuns>> HostedRuns::Open(const HostingOptions& options,
                                                             const runtime::Clock& clock,
                                                             store::StoreStepHook hook) {
  ASSIGN_OR_RETURN(std::unique_ptr<store::Store> store, store::Store::Open(options.folder, std::move(hook)));
  if (!store->orphans().empty()) {
    runtime::LogWarning("{}: moved {} files that no run names to {}, {} first", options.folder,
                        store->orphans().size(), store::kOrphaned, store->orphans().front());
  }
  ASSIGN_OR_RETURN(std::unique_ptr<store::StoreReader> reader, store::StoreReader::Open(options.folder));
  auto runs =
      std::unique_ptr<HostedRuns>(new HostedRuns(std::move(store), std::move(reader), options, clock));
  ASSIGN_OR_RETURN(const std::vector<store::RunRecord> records, runs->store_->Runs());
  for (const store::RunRecord& record : records) {
    absl::StatusOr<std::unique_ptr<Run>> run = RestoreRun(runs->surroundings_, record);
    if (!run.ok()) {
      return WithContext(fmt::format("{}: run \"{}\"", options.folder, record.name), run.status());
    }
    runtime::LogInfo("run {}: {} after {} committed rounds", record.name,
                     (*run)->state().ended() ? "ended" : "goes on", (*run)->state().committed);
    runs->Publish(runs->Add(*std::move(run)));
  }
  return runs;
}

Run* HostedRuns::Find(std::string_view name) {
  const auto found = runs_.find(name);
  if (found == runs_.end()) return nullptr;
  schedule_.Touch(*found->second);
  return found->second.get();
}

absl::StatusOr<Run*> HostedRuns::Get(std::string_view name) {
  if (Run* found = Find(name)) return found;
  return NoSuchRun(name);
}

Run* HostedRuns::ActiveFor(std::string_view node) {
  while (!active_.empty() && IsOver(active_.front())) active_.pop_front();
  const auto found = std::ranges::find_if(
      active_, [node](const Run* run) { return !IsOver(run) && run->state().config.Admits(node); });
  if (found == active_.end()) return nullptr;
  schedule_.Touch(**found);
  return *found;
}

absl::StatusOr<Run*> HostedRuns::Start(const std::string& config, const std::string& model) {
  ASSIGN_OR_RETURN(const RunConfig parsed, ParseRunConfig(config, "run"));
  if (Run* present = Find(parsed.name)) {
    absl::StatusOr<parameters::FlatModel> given = parameters::DecodeFlatModel(model);
    if (!given.ok()) return absl::InvalidArgumentError(given.status().message());
    const std::string sha =
        parameters::BytesOf(parameters::FlatIdentity(given->layout.tensors, given->values));
    const absl::StatusOr<store::ModelRecord> initial = store_->Model(parsed.name, 0);
    if (*present->parts().config_text == config && initial.ok() && initial->sha256 == sha) {
      return present;
    }
    return absl::AlreadyExistsError(
        fmt::format("there is a run \"{}\" with another configuration or model: give this one another name",
                    parsed.name));
  }
  RETURN_IF_ERROR(CheckRoomForOneMore());
  ASSIGN_OR_RETURN(std::unique_ptr<Run> run, StartRun(surroundings_, config, model));
  runtime::LogInfo("run {}: started, {} parameters", parsed.name, run->model().layout().element_count);
  return &Add(std::move(run));
}

absl::Status HostedRuns::CheckRoomForOneMore() {
  if (active_.size() < max_runs_) return absl::OkStatus();
  std::erase_if(active_, IsOver);
  if (active_.size() < max_runs_) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "{} runs have not ended, and federation.max_runs admits no more: stop one first (tributary run "
      "list, tributary run stop NAME)",
      active_.size()));
}

absl::StatusOr<Run*> HostedRuns::StartRelayed(const RunConfig& config, std::string_view model_file,
                                              const ParentRound& round) {
  Run* present = Find(config.name);
  if (present != nullptr && present->relayed() == nullptr) {
    return absl::AlreadyExistsError(fmt::format("this aggregator has a run \"{}\" of its own", config.name));
  }
  if (present != nullptr && !SameForNodes(present->state().config, config)) {
    return absl::AlreadyExistsError(
        fmt::format("the parent's run \"{}\" was another one before: give it another name", config.name));
  }
  for (Run* other : order_) {
    if (other->relayed() == nullptr || other == present) continue;
    other->relayed()->End({.reason = fmt::format("the parent has gone on to run {}", config.name)});
    schedule_.Touch(*other);
  }
  if (present != nullptr) return present;
  ASSIGN_OR_RETURN(std::unique_ptr<Run> run, StartRelayedRun(surroundings_, config, model_file, round));
  runtime::LogInfo("run {}: relayed for the parent, {} parameters", config.name,
                   run->model().layout().element_count);
  return &Add(std::move(run));
}

absl::StatusOr<Run*> HostedRuns::Recover(Run& failed) {
  ASSIGN_OR_RETURN(const std::vector<store::RunRecord> records, store_->Runs());
  const auto record = std::ranges::find(records, failed.name(), &store::RunRecord::name);
  if (record == records.end()) {
    return absl::DataLossError(fmt::format("run \"{}\" is not in the store any more", failed.name()));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Run> restored, RestoreRun(surroundings_, *record));
  runtime::LogInfo("run {}: read again from the store, after {} committed rounds", record->name,
                   restored->state().committed);
  std::ranges::replace(order_, &failed, restored.get());
  active_.assign(order_.begin(), order_.end());
  sick_.erase(&failed);
  schedule_.Forget(failed);
  schedule_.Touch(*restored);
  return (runs_[record->name] = std::move(restored)).get();
}

absl::Status HostedRuns::Delete(const std::string& name) {
  ASSIGN_OR_RETURN(Run * run, Get(name));
  if (!run->state().ended() && run->health().ok()) {
    return absl::FailedPreconditionError(
        fmt::format("run \"{}\" has not ended: stop it first (tributary run stop {})", name, name));
  }
  RETURN_IF_ERROR(store_->DeleteRun(name));
  std::erase(order_, run);
  std::erase(active_, run);
  sick_.erase(run);
  schedule_.Forget(*run);
  runs_.erase(name);
  board_.Remove(name);
  runtime::LogInfo("run {}: deleted", name);
  return absl::OkStatus();
}

Run& HostedRuns::Add(std::unique_ptr<Run> run) {
  order_.push_back(run.get());
  active_.push_back(run.get());
  schedule_.Touch(*run);
  runs_[run->name()] = std::move(run);
  return *order_.back();
}

std::optional<ChangedNodes> HostedRuns::Publish(Run& run) {
  if (run.health().ok() && run.journal().takes_updates()) {
    sick_.erase(&run);
  } else {
    sick_.insert(&run);
  }
  ChangedNodes changed = run.TakeChangedNodes();
  const bool nodes = changed.everyone || !changed.nodes.empty();
  if (!run.TakeChanged() && !nodes) return std::nullopt;
  ChangedParticipants participants{.everyone = changed.everyone};
  if (changed.everyone) {
    for (const auto& [name, node] : run.state().roster.nodes()) participants.nodes.push_back(node.status);
  }
  for (const std::string& node : changed.nodes) {
    if (const Roster::Node* known = run.state().roster.Find(node)) {
      participants.nodes.push_back(known->status);
    } else {
      participants.forgotten.push_back(node);
    }
  }
  board_.Publish(RecordOf(run.parts()), std::move(participants));
  return changed;
}

}  // namespace tributary::learning
