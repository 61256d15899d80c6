// A run whose rounds come from a parent and whose sums go there.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "aggregator/learning/run/run.h"
#include "aggregator/learning/run/run_record.h"
#include "core/status/macros.h"

namespace tributary::learning {

absl::Status Run::BeginParentRound(const ParentRound& round, std::string_view model_file) {
  RETURN_IF_ERROR(health_);
  std::optional<parameters::FlatModel> model;
  if (journal_.model().sha256 != parameters::BytesOf(round.model)) {
    absl::StatusOr<parameters::FlatModel> decoded = parameters::DecodeFlatModel(model_file);
    if (!decoded.ok()) return absl::InvalidArgumentError(decoded.status().message());
    if (decoded->layout.schema_sha256 != model_.layout().schema_sha256 ||
        parameters::FlatIdentity(decoded->layout.tensors, decoded->values) != round.model) {
      return absl::InvalidArgumentError(
          fmt::format("the parent's model of round {} is not the one that it announced", round.round));
    }
    if (journal_.model().round + 1 >= round.round) {
      return absl::FailedPreconditionError(fmt::format(
          "round {} starts from another model than before: a new run under an old name?", round.round));
    }
    model = *std::move(decoded);
  }
  RETURN_IF_ERROR(Apply(state_.Begin(round, now_ns())));
  account_.changed = true;
  if (model) {
    model_.Replace(std::move(model->values));
    absl::StatusOr<WrittenModel> written =
        model_.Write(surroundings_.store, name(), round.round - 1, round.model, surroundings_.clock.UnixNs());
    if (!Healthy(written.status())) return health_;
    if (!Healthy(journal_.ReplaceModel(Stored(), *std::move(written)))) return health_;
  }
  model_.Forget();  // what the file is for
  return health_;
}

absl::Status Run::SumAgain(std::vector<KeptUpdate> updates) {
  RETURN_IF_ERROR(health_);
  const Round* open = state_.under_way();
  if (open == nullptr) return absl::FailedPreconditionError("no round is under way");
  Healthy(sum_.AddUpAgain(FixedPointOf(open->started()), std::move(updates)));
  return health_;
}

void Run::EndParentRound(std::uint32_t round, const absl::Status& outcome) {
  if (!health_.ok()) return;
  account_.changed = true;
  if (!outcome.ok()) return FailRound(round, outcome);
  if (!state_.closed() || state_.round() != round) return;
  v1::Round line = state_.under_way()->line();
  AddAccount(*this, line);
  // With those whose updates the parent counts elsewhere.
  line.set_dropped(line.asked() - line.accepted());
  const absl::StatusOr<RunOutcome> committed = state_.Commit(round, state_.model().model, now_ns());
  if (!committed.ok()) return;
  sum_.Clear();
  if (!Healthy(journal_.DropRound(Stored(), std::move(line)))) return;
  spdlog::info("run {}: the parent has taken round {}, {} updates", name(), round,
               journal_.last()->accepted());
  Apply(*committed, true);
}

void Run::EndRelayed() {
  if (!health_.ok()) return;
  Apply(state_.Stop()).IgnoreError();
}

}  // namespace tributary::learning
