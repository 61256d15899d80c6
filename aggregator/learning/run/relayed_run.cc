#include "aggregator/learning/run/relayed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "aggregator/learning/run/run_record.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"

namespace tributary::learning {

absl::Status RelayedRun::BeginRound(const ParentRound& round, std::string_view model_file, SumDone done) {
  done_ = nullptr;
  RETURN_IF_ERROR(Begin(round, model_file));
  done_ = std::move(done);
  return absl::OkStatus();
}

absl::Status RelayedRun::Begin(const ParentRound& round, std::string_view model_file) {
  RETURN_IF_ERROR(run_.health);
  std::optional<parameters::FlatModel> model;
  if (run_.journal.model().sha256 != parameters::BytesOf(round.model)) {
    absl::StatusOr<parameters::FlatModel> decoded = parameters::DecodeFlatModel(model_file);
    if (!decoded.ok()) return absl::InvalidArgumentError(decoded.status().message());
    if (decoded->layout.schema_sha256 != run_.model.layout().schema_sha256 ||
        parameters::FlatIdentity(decoded->layout.tensors, decoded->values) != round.model) {
      return absl::InvalidArgumentError(
          fmt::format("the parent's model of round {} is not the one that it announced", round.round));
    }
    if (run_.journal.model().round + 1 >= round.round) {
      return absl::FailedPreconditionError(fmt::format(
          "round {} starts from another model than before: a new run under an old name?", round.round));
    }
    model = *std::move(decoded);
  }
  RETURN_IF_ERROR(rounds_.Apply(run_.rules.Begin(round, run_.now_ns())));
  run_.account.changed = true;
  if (model) {
    run_.model.Replace(std::move(model->values));
    absl::StatusOr<WrittenModel> written = run_.model.Write(
        run_.surroundings.store, run_.name(), round.round - 1, round.model, run_.surroundings.clock.UnixNs());
    if (!run_.Healthy(written.status())) return run_.health;
    if (!run_.Healthy(run_.journal.ReplaceModel(run_.Stored(), *std::move(written)))) return run_.health;
  }
  run_.model.Forget();  // what the file is for
  return run_.health;
}

void RelayedRun::AnswerIfOver() {
  if (!done_ || (run_.health.ok() && run_.state.begun() && !run_.state.closed())) return;
  std::exchange(done_, nullptr)(Outcome());
}

absl::StatusOr<PartialSum> RelayedRun::Outcome() const {
  RETURN_IF_ERROR(run_.health);
  if (run_.state.closed()) return Sum();
  const Journal::Line& last = run_.journal.last();
  const std::string why = last == nullptr ? "" : last->failure();
  return absl::UnavailableError(fmt::format("no update of a node has come{}", why.empty() ? "" : ": " + why));
}

absl::StatusOr<PartialSum> RelayedRun::Sum() const {
  PartialSum sum;
  sum.header = run_.sum.Said();
  sum.words.resize(run_.model.layout().element_count);
  RETURN_IF_ERROR(run_.sum.words().Read(0, sum.words));
  for (const KeptUpdate& each : run_.sum.updates()) {
    const v1::UpdateHeader& header = each.header();
    sum.header.mutable_contributors()->MergeFrom(header.contributors());
    if (!header.contributors().empty()) continue;
    v1::Contributor& itself = *sum.header.add_contributors();
    itself.set_node(header.node());
    itself.set_sample_count(header.sample_count());
  }
  return sum;
}

absl::StatusOr<PartialSum> RelayedRun::LeaveOut(std::uint32_t round, const std::vector<std::string>& nodes) {
  RETURN_IF_ERROR(run_.health);
  if (!run_.state.closed() || run_.state.round() != round) {
    return absl::FailedPreconditionError(fmt::format("round {} has no sum", round));
  }
  const std::set<std::string_view> elsewhere(nodes.begin(), nodes.end());
  const std::vector<KeptUpdate>& updates = run_.sum.updates();
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
    runtime::LogWarning("run {}: the update of {} is left out of round {}: the parent counts {} elsewhere",
                        run_.name(), header.node(), round,
                        header.contributors().empty() ? "it" : "a node in it");
  }
  if (kept.size() == updates.size() || kept.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "{} of {} updates are left without what the parent counts elsewhere", kept.size(), updates.size()));
  }
  const parameters::FixedPoint fixed_point = FixedPointOf(run_.state.under_way()->started());
  if (!run_.Healthy(run_.sum.AddUpAgain(fixed_point, std::move(kept)))) return run_.health;
  return Sum();
}

void RelayedRun::EndRound(std::uint32_t round, const absl::Status& outcome) {
  done_ = nullptr;
  if (!run_.health.ok()) return;
  run_.account.changed = true;
  if (!outcome.ok()) return rounds_.FailRound(round, outcome);
  if (!run_.state.closed() || run_.state.round() != round) return;
  v1::Round line = run_.state.under_way()->line();
  AddAccount(run_, line);
  // With those whose updates the parent counts elsewhere.
  line.set_dropped(line.asked() - line.accepted());
  const absl::StatusOr<RunOutcome> committed =
      run_.rules.Commit(round, run_.state.model().model, run_.now_ns());
  if (!committed.ok()) return;
  run_.sum.Clear();
  if (!run_.Healthy(run_.journal.DropRound(run_.Stored(), std::move(line)))) return;
  runtime::LogInfo("run {}: the parent has taken round {}, {} updates", run_.name(), round,
                   run_.journal.last()->accepted());
  rounds_.Apply(*committed, true);
}

void RelayedRun::End(ParentEnd end) {
  if (!run_.health.ok()) return;
  rounds_.Apply(run_.rules.End(std::move(end))).IgnoreError();
}

}  // namespace tributary::learning
