#include "aggregator/learning/relay/relayed_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tributary {
namespace {

absl::Status AnotherModel(const ParentRound& round) {
  return absl::InvalidArgumentError(
      fmt::format("the parent's model of round {} is not the one that it announced", round.round));
}

}  // namespace

std::unique_ptr<HostedRun> RelayedRun::Make(const RunSurroundings& surroundings, RunState state,
                                            FlatModel model) {
  return std::unique_ptr<HostedRun>(new RelayedRun(surroundings, std::move(state), std::move(model)));
}

absl::StatusOr<std::unique_ptr<RelayedRun>> RelayedRun::Start(const RunSurroundings& surroundings,
                                                              std::string_view config_text,
                                                              std::string_view model_file,
                                                              const ParentRound& round) {
  absl::StatusOr<RunConfig> config = ParseStoredRunConfig(config_text, "the parent's run");
  if (!config.ok()) return config.status();
  config->relayed = true;
  absl::StatusOr<FlatModel> model = DecodeFlatModel(model_file);
  if (!model.ok()) return absl::InvalidArgumentError(std::string(model.status().message()));
  if (FlatIdentity(model->layout.tensors, model->values) != round.model) return AnotherModel(round);
  absl::StatusOr<RunState> state = RunState::Create(
      *std::move(config), {model->layout.schema_sha256, round.model, model->layout.element_count});
  if (!state.ok()) return state.status();
  auto run = std::unique_ptr<RelayedRun>(new RelayedRun(surroundings, *std::move(state), *std::move(model)));
  absl::Status status = run->Prepare(config_text);
  if (status.ok()) status = run->Add(round.round - 1);
  if (!status.ok()) return status;
  return run;
}

absl::Status RelayedRun::BeginRound(const ParentRound& round, std::string_view model_file, SumDone done) {
  if (!health_.ok()) return health_;
  std::optional<FlatModel> model;
  if (model_record_.sha256 != BytesOf(round.model)) {
    absl::StatusOr<FlatModel> decoded = DecodeFlatModel(model_file);
    if (!decoded.ok()) return absl::InvalidArgumentError(std::string(decoded.status().message()));
    if (decoded->layout.schema_sha256 != layout_.schema_sha256 ||
        FlatIdentity(decoded->layout.tensors, decoded->values) != round.model) {
      return AnotherModel(round);
    }
    if (model_record_.round + 1 >= round.round) {
      return absl::FailedPreconditionError(fmt::format(
          "round {} starts from another model than before: a new run under an old name?", round.round));
    }
    model = *std::move(decoded);
  }
  RunEvents events;
  absl::Status status = state_.Begin(round, surroundings_.clock.SteadyNs(), events);
  if (!status.ok()) return status;
  Apply(events, false);
  if (model && health_.ok()) Healthy(TakeModel(round, *std::move(model)));
  model_ = {};  // what the file is for
  if (!health_.ok()) return health_;
  done_ = std::move(done);
  if (state_.closed()) HandUp();
  return absl::OkStatus();
}

absl::Status RelayedRun::TakeModel(const ParentRound& round, FlatModel model) {
  model_ = std::move(model.values);
  absl::StatusOr<DurableFile> file = WriteModel(round.round - 1);
  if (!file.ok()) return file.status();
  model_record_ = {round.round - 1,       BytesOf(round.model),
                   layout_.element_count, surroundings_.clock.UnixNs(),
                   file->facts(),         {}};
  models_ = {model_record_};
  return surroundings_.store.ReplaceModels(name(), Document(), model_record_, *std::move(file));
}

absl::Status RelayedRun::CloseRound(const RoundClosed&) {
  // After a restart nobody waits for it until the parent asks again.
  HandUp();
  return absl::OkStatus();
}

void RelayedRun::HandUp() {
  if (done_) std::exchange(done_, nullptr)(Sum());
}

absl::StatusOr<PartialSum> RelayedRun::Sum() {
  PartialSum sum;
  sum.words.resize(layout_.element_count);
  if (!Healthy(sum_->Read(0, sum.words))) return health_;
  for (const Submission& each : submissions_) {
    const SubmissionHeader& header = each.document.update.header;
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
  if (!health_.ok()) return health_;
  if (!state_.closed() || state_.round() != round) {
    return absl::FailedPreconditionError(fmt::format("round {} has no sum", round));
  }
  const std::set<std::string_view> elsewhere(nodes.begin(), nodes.end());
  std::vector<Submission> kept;
  for (const Submission& each : submissions_) {
    const SubmissionHeader& header = each.document.update.header;
    const bool left_out = elsewhere.contains(header.node) ||
                          std::ranges::any_of(header.contributors, [&](const Contribution& contribution) {
                            return elsewhere.contains(contribution.node);
                          });
    if (!left_out) {
      kept.push_back(each);
      continue;
    }
    spdlog::warn("run {}: the update of {} is left out of round {}: the parent counts {} elsewhere", name(),
                 header.node, round, header.contributors.empty() ? "it" : "a node in it");
  }
  if (kept.size() == submissions_.size() || kept.empty()) {
    return absl::FailedPreconditionError(
        fmt::format("{} of {} updates are left without what the parent counts elsewhere", kept.size(),
                    submissions_.size()));
  }
  if (!Healthy(AddUpAgain(std::move(kept)))) return health_;
  return Sum();
}

void RelayedRun::EndRound(std::uint32_t round, const absl::Status& outcome) {
  done_ = nullptr;
  if (!health_.ok()) return;
  const std::int64_t now_ns = surroundings_.clock.SteadyNs();
  RunEvents events;
  if (!outcome.ok()) {
    state_.FailRound(round, std::string(outcome.message()), now_ns, events);
    return Apply(events, false);
  }
  RoundLine line =
      MakeLine(round, asked_ - static_cast<std::uint32_t>(submissions_.size()), state_.declined());
  if (!state_.Commit(round, state_.model().model, now_ns, events).ok()) return;
  submissions_.clear();
  if (!Healthy(surroundings_.store.DropSubmissions(name(), Document(), {0, round, EncodeRoundLine(line)}))) {
    return;
  }
  spdlog::info("run {}: the parent has taken round {}, {} updates", name(), round, line.accepted);
  history_.push_back(std::make_shared<const RoundLine>(std::move(line)));
  Apply(events, true);
}

void RelayedRun::End() {
  if (!health_.ok()) return;
  RunEvents events;
  if (state_.Stop(events).ok()) Apply(events, false);
}

std::int64_t RelayedRun::Advance() {
  const std::int64_t next_ns = HostedRun::Advance();
  if (!done_) return next_ns;
  if (!health_.ok()) {
    std::exchange(done_, nullptr)(health_);
  } else if (!state_.begun()) {
    const bool failed = !history_.empty() && !history_.back()->failure.empty();
    std::exchange(done_, nullptr)(absl::UnavailableError(
        fmt::format("no update of a node has come{}", failed ? ": " + history_.back()->failure : "")));
  }
  return next_ns;
}

absl::Status RelayedRun::ParentsOnly() const {
  return absl::FailedPreconditionError(
      fmt::format("run \"{}\" is the parent's: it is changed there", name()));
}

RunView RelayedRun::View() const {
  RunView view = HostedRun::View();
  view.strategy = "relayed";
  if (!state_.config().client.schedule) view.rounds = 0;  // not told by the parent
  view.to_judge.reset();                                  // the models are the parent's
  if (view.condition == RunCondition::kStopped) {
    view.condition = RunCondition::kFinished;
    view.message = "the parent's run has ended";
  }
  return view;
}

}  // namespace tributary
