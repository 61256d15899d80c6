// Of Coordinator: the run of a parent.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "aggregator/learning/service/coordinator.h"

namespace tributary {

void Coordinator::AwaitParent(std::function<void(const Roster&)> watch) {
  Post([this, watch = std::move(watch)] {
    watch_roster_ = watch;
    told_roster_.reset();
  });
}

RelayedRun* Coordinator::FindRelayed(std::string_view run) { return dynamic_cast<RelayedRun*>(Find(run)); }

Roster Coordinator::CountRoster() {
  Roster roster;
  for (const Participant& each : participants_) {
    const HostedRun* run = Find(each.run);
    const bool available =
        run == nullptr || (run->state().config().relayed && !run->state().CannotTrain(each.declaration.node));
    if (!available || each.declaration.sample_count == 0) continue;
    ++roster.nodes;
    roster.sample_count += each.declaration.sample_count;
  }
  return roster;
}

void Coordinator::TellRoster() {
  if (!watch_roster_) return;
  const Roster roster = CountRoster();
  if (told_roster_ == roster) {
    roster_due_ns_ = RunState::kNoDeadline;
    return;
  }
  const std::int64_t now_ns = clock_.SteadyNs();
  if (roster_due_ns_ == RunState::kNoDeadline)
    roster_due_ns_ = told_roster_ ? now_ns + kRosterRestNs : now_ns;
  if (now_ns < roster_due_ns_) {
    next_deadline_ns_ = std::min(next_deadline_ns_, roster_due_ns_);
    return;
  }
  roster_due_ns_ = RunState::kNoDeadline;
  told_roster_ = roster;
  watch_roster_(roster);
}

absl::StatusOr<RelayedRun*> Coordinator::RelayedFor(const std::string& config, const ParentRound& round,
                                                    std::string_view model_file) {
  absl::StatusOr<RunConfig> parsed = ParseStoredRunConfig(config, "the parent's run");
  if (!parsed.ok()) return parsed.status();
  RelayedRun* relayed = FindRelayed(parsed->name);
  if (relayed == nullptr && Find(parsed->name) != nullptr) {
    return absl::AlreadyExistsError(fmt::format("this aggregator has a run \"{}\" of its own", parsed->name));
  }
  if (relayed != nullptr && relayed->config_text() != config) {
    return absl::AlreadyExistsError(
        fmt::format("the parent's run \"{}\" was another one before: give it another name", parsed->name));
  }
  for (const auto& other : runs_) {
    if (auto* each = dynamic_cast<RelayedRun*>(other.get()); each != nullptr && each != relayed) each->End();
  }
  if (relayed != nullptr) return relayed;
  absl::StatusOr<std::unique_ptr<RelayedRun>> started =
      RelayedRun::Start(surroundings_, config, model_file, round);
  if (!started.ok()) return started.status();
  spdlog::info("run {}: relayed for the parent, {} parameters", parsed->name,
               (*started)->layout().element_count);
  relayed = started->get();
  AddRun(*std::move(started));
  return relayed;
}

void Coordinator::BeginRelayed(std::string config, ParentRound round, std::string model_file,
                               RelayedRun::SumDone done) {
  Post([this, config = std::move(config), round, model_file = std::move(model_file), done = std::move(done)] {
    const absl::StatusOr<RelayedRun*> run = RelayedFor(config, round, model_file);
    const absl::Status status = run.ok() ? (*run)->BeginRound(round, model_file, done) : run.status();
    if (!status.ok()) done(status);
  });
}

void Coordinator::LeaveOut(std::string run, std::uint32_t round, std::vector<std::string> nodes,
                           RelayedRun::SumDone done) {
  Post([this, run = std::move(run), round, nodes = std::move(nodes), done = std::move(done)] {
    RelayedRun* relayed = FindRelayed(run);
    done(relayed != nullptr ? relayed->LeaveOut(round, nodes) : NoSuchRun(run));
  });
}

void Coordinator::EndRelayed(std::string run, std::uint32_t round, absl::Status outcome) {
  Post([this, run = std::move(run), round, outcome = std::move(outcome)] {
    if (RelayedRun* relayed = FindRelayed(run)) relayed->EndRound(round, outcome);
  });
}

void Coordinator::EndRelayedRun(std::string run) {
  Post([this, run = std::move(run)] {
    if (RelayedRun* relayed = FindRelayed(run)) relayed->End();
  });
}

}  // namespace tributary
