#include "aggregator/learning/relay/relayed_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/status/macros.h"

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
  sum.words.resize(run_.model().layout().element_count);
  RETURN_IF_ERROR(run_.sum().words().Read(0, sum.words));
  for (const KeptUpdate& each : run_.sum().updates()) {
    const SubmissionHeader& header = each.header;
    const auto samples = static_cast<double>(header.sample_count);
    sum.sample_count += header.sample_count;
    sum.metrics.loss += samples * header.metrics.loss;
    sum.metrics.spread += samples * header.metrics.spread;
    sum.metrics.seconds = std::max(sum.metrics.seconds, header.metrics.seconds);
    sum.metrics.steps += header.metrics.steps;
    if (header.contributors.empty()) sum.contributors.push_back({header.node, header.sample_count});
    std::ranges::copy(header.contributors, std::back_inserter(sum.contributors));
  }
  if (sum.sample_count > 0) {
    sum.metrics.loss /= static_cast<double>(sum.sample_count);
    sum.metrics.spread /= static_cast<double>(sum.sample_count);
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
    const SubmissionHeader& header = each.header;
    const bool left_out = elsewhere.contains(header.node) ||
                          std::ranges::any_of(header.contributors, [&](const Contribution& contribution) {
                            return elsewhere.contains(contribution.node);
                          });
    if (!left_out) {
      kept.push_back(each);
      continue;
    }
    spdlog::warn("run {}: the update of {} is left out of round {}: the parent counts {} elsewhere",
                 run_.name(), header.node, round, header.contributors.empty() ? "it" : "a node in it");
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

}  // namespace tributary::learning
