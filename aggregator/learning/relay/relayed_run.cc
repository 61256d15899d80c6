#include "aggregator/learning/relay/relayed_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "aggregator/learning/service/coordinator.h"
#include "core/status/macros.h"
#include "google/protobuf/util/message_differencer.h"

namespace tributary::learning {

absl::Status RelayedRun::BeginRound(const ParentRound& round, std::string_view model_file, SumDone done) {
  done_ = nullptr;
  RETURN_IF_ERROR(run_.BeginParentRound(round, model_file));
  done_ = std::move(done);
  if (run_.state().closed()) OnRoundClosed();
  return absl::OkStatus();
}

void RelayedRun::OnRoundClosed() {
  // After a restart nobody waits for it until the parent asks again.
  if (done_) std::exchange(done_, nullptr)(Sum());
}

absl::StatusOr<PartialSum> RelayedRun::Sum() {
  PartialSum sum;
  v1::UpdateHeader& said = sum.header;
  v1::UpdateMetrics& metrics = *said.mutable_metrics();
  sum.words.resize(run_.model().layout().element_count);
  RETURN_IF_ERROR(run_.sum().words().Read(0, sum.words));
  for (const KeptUpdate& each : run_.sum().updates()) {
    const v1::UpdateHeader& header = each.header();
    const auto samples = static_cast<double>(header.sample_count());
    said.set_sample_count(said.sample_count() + header.sample_count());
    metrics.set_loss(metrics.loss() + samples * header.metrics().loss());
    metrics.set_spread(metrics.spread() + samples * header.metrics().spread());
    metrics.set_seconds(std::max(metrics.seconds(), header.metrics().seconds()));
    metrics.set_steps(metrics.steps() + header.metrics().steps());
    said.mutable_contributors()->MergeFrom(header.contributors());
    if (!header.contributors().empty()) continue;
    v1::Contributor& itself = *said.add_contributors();
    itself.set_node(header.node());
    itself.set_sample_count(header.sample_count());
  }
  if (said.sample_count() > 0) {
    metrics.set_loss(metrics.loss() / static_cast<double>(said.sample_count()));
    metrics.set_spread(metrics.spread() / static_cast<double>(said.sample_count()));
  }
  return sum;
}

absl::StatusOr<PartialSum> RelayedRun::LeaveOut(std::uint32_t round, const std::vector<std::string>& nodes) {
  RETURN_IF_ERROR(run_.health());
  if (!run_.state().closed() || run_.state().round() != round) {
    return absl::FailedPreconditionError(fmt::format("round {} has no sum", round));
  }
  const std::set<std::string_view> elsewhere(nodes.begin(), nodes.end());
  const std::vector<KeptUpdate>& updates = run_.sum().updates();
  std::vector<KeptUpdate> kept;
  for (const KeptUpdate& each : updates) {
    const v1::UpdateHeader& header = each.header();
    const bool left_out =
        elsewhere.contains(header.node()) ||
        std::ranges::any_of(header.contributors(), [&](const v1::Contributor& contribution) {
          return elsewhere.contains(contribution.node());
        });
    if (!left_out) {
      kept.push_back(each);
      continue;
    }
    spdlog::warn("run {}: the update of {} is left out of round {}: the parent counts {} elsewhere",
                 run_.name(), header.node(), round, header.contributors().empty() ? "it" : "a node in it");
  }
  if (kept.size() == updates.size() || kept.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "{} of {} updates are left without what the parent counts elsewhere", kept.size(), updates.size()));
  }
  RETURN_IF_ERROR(run_.SumAgain(std::move(kept)));
  return Sum();
}

void RelayedRun::EndRound(std::uint32_t round, const absl::Status& outcome) {
  done_ = nullptr;
  run_.EndParentRound(round, outcome);
}

void RelayedRun::GiveUpIfOver() {
  if (!done_) return;
  if (!run_.health().ok()) return std::exchange(done_, nullptr)(run_.health());
  if (run_.state().begun()) return;
  const Journal::Line& last = run_.journal().last();
  const std::string why = last == nullptr ? "" : last->failure();
  std::exchange(done_, nullptr)(
      absl::UnavailableError(fmt::format("no update of a node has come{}", why.empty() ? "" : ": " + why)));
}

namespace {

// Whether nodes are told the same: all that a relayed run takes from its parent.
bool SameForNodes(const RunConfig& a, const RunConfig& b) {
  return a.rounds == b.rounds && static_cast<float>(a.max_element) == static_cast<float>(b.max_element) &&
         google::protobuf::util::MessageDifferencer::Equals(a.client, b.client);
}

// The run that hands on the parent's; it is started if it is not here.
absl::StatusOr<RelayedRun*> RelayedFor(HostedRuns& runs, Attendance& nodes, const RunConfig& config,
                                       const ParentRound& round, std::string_view model_file) {
  const Hosted* hosted = runs.Find(config.name);
  if (hosted != nullptr && hosted->relayed == nullptr) {
    return absl::AlreadyExistsError(fmt::format("this aggregator has a run \"{}\" of its own", config.name));
  }
  if (hosted != nullptr && !SameForNodes(hosted->run->state().config(), config)) {
    return absl::AlreadyExistsError(
        fmt::format("the parent's run \"{}\" was another one before: give it another name", config.name));
  }
  for (const Hosted* other : runs.all()) {
    if (other->relayed != nullptr && other != hosted) other->run->EndRelayed();
  }
  if (hosted != nullptr) return hosted->relayed.get();
  ASSIGN_OR_RETURN(std::unique_ptr<Run> run,
                   Run::StartRelayed(runs.surroundings(), config, model_file, round));
  spdlog::info("run {}: relayed for the parent, {} parameters", config.name,
               run->model().layout().element_count);
  hosted = &runs.Add(std::move(run));
  nodes.AssignWaiting();
  return hosted->relayed.get();
}

}  // namespace

void BeginRelayed(Coordinator& coordinator, RunConfig config, ParentRound round, std::string model_file,
                  RelayedRun::SumDone done) {
  coordinator.Post([config = std::move(config), round, model_file = std::move(model_file),
                    done = std::move(done)](HostedRuns& runs, Attendance& nodes) {
    const absl::StatusOr<RelayedRun*> run = RelayedFor(runs, nodes, config, round, model_file);
    const absl::Status status = run.ok() ? (*run)->BeginRound(round, model_file, done) : run.status();
    if (!status.ok()) done(status);
  });
}

void OnRelayed(Coordinator& coordinator, std::string run, std::function<void(RelayedRun&, Run&)> act,
               std::function<void()> missing) {
  coordinator.Post([run = std::move(run), act = std::move(act), missing = std::move(missing)](
                       HostedRuns& runs, Attendance&) {
    const Hosted* hosted = runs.Find(run);
    if (hosted != nullptr && hosted->relayed != nullptr) {
      act(*hosted->relayed, *hosted->run);
    } else if (missing) {
      missing();
    }
  });
}

}  // namespace tributary::learning
