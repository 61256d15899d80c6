// A run as it comes out of the store: after a restart, and back to an earlier model.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "aggregator/learning/run/hosted_run.h"
#include "aggregator/learning/relay/relayed_run.h"

namespace tributary {
namespace {

absl::StatusOr<std::string> ReadAll(const Store& store, const FileFacts& facts) {
  absl::StatusOr<CheckedReader> reader = store.Read(facts);
  if (!reader.ok()) return reader.status();
  std::string content(facts.bytes, '\0');
  absl::StatusOr<std::size_t> got = reader->Read(content.data(), content.size());
  if (!got.ok()) return got.status();
  return content;
}

// Into memory that is there already.
absl::Status ReadValues(CheckedReader& reader, std::span<float> values) {
  absl::StatusOr<std::size_t> got = reader.Read(reinterpret_cast<char*>(values.data()), values.size_bytes());
  if (!got.ok()) return got.status();
  return *got == values.size_bytes() ? absl::OkStatus() : absl::DataLossError("a stored vector ends early");
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostedRun>> HostedRun::Restore(const RunSurroundings& surroundings,
                                                              const RunRecord& record) {
  absl::StatusOr<RunConfig> config = ParseStoredRunConfig(record.config, record.name);
  if (!config.ok()) return config.status();
  absl::StatusOr<RunDocument> document = DecodeRunDocument(record.document);
  if (!document.ok()) return document.status();
  config->relayed = document->relayed;
  absl::StatusOr<std::vector<ModelRecord>> models = surroundings.store.Models(record.name);
  if (!models.ok()) return models.status();
  const auto present = std::ranges::find(*models, record.model_round, &ModelRecord::round);
  if (present == models->end()) {
    return absl::DataLossError(fmt::format("the store lacks the model of run \"{}\" after round {}",
                                           record.name, record.model_round));
  }
  absl::StatusOr<std::string> file = ReadAll(surroundings.store, present->file);
  if (!file.ok()) return file.status();
  absl::StatusOr<FlatModel> model = DecodeFlatModel(*file);
  if (!model.ok()) return absl::DataLossError(std::string(model.status().message()));
  file->clear();
  file->shrink_to_fit();
  absl::StatusOr<std::vector<SubmissionRecord>> submissions = surroundings.store.Submissions(record.name);
  if (!submissions.ok()) return submissions.status();

  RunSnapshot snapshot = document->snapshot;
  std::vector<Submission> accepted;
  for (const SubmissionRecord& each : *submissions) {
    absl::StatusOr<SubmissionDocument> read = DecodeSubmissionDocument(each.document);
    if (!read.ok()) return read.status();
    snapshot.accepted.push_back(read->update);
    accepted.push_back({*std::move(read), each.file});
  }
  const Sha256 identity = FlatIdentity(model->layout.tensors, model->values);
  absl::StatusOr<RunState> state = RunState::Restore(
      *std::move(config), {model->layout.schema_sha256, identity, model->layout.element_count}, snapshot);
  if (!state.ok()) return state.status();
  const auto make = document->relayed ? &RelayedRun::Make : &HostedRun::Make;
  std::unique_ptr<HostedRun> run = make(surroundings, *std::move(state), *std::move(model));
  if (absl::Status status = run->Prepare(record.config); !status.ok()) return status;
  run->model_record_ = *present;
  run->models_ = *std::move(models);
  run->started_unix_ns_ = record.started_unix_ns;
  run->failure_ = document->failure;
  run->round_started_unix_ns_ = document->round_started_unix_ns;
  run->refused_ = document->refused;
  absl::Status status = run->LoadStrategyState();
  if (status.ok()) status = run->LoadHistory();
  if (status.ok()) status = run->AddUpAgain(std::move(accepted));
  if (!status.ok()) return status;
  return run;
}

absl::Status HostedRun::LoadStrategyState() {
  const std::vector<StrategyState> parts = strategy_->state();
  if (model_record_.strategy_state.name.empty()) {
    for (const StrategyState& part : parts) std::ranges::fill(part.values, 0.0f);
    return absl::OkStatus();
  }
  absl::StatusOr<CheckedReader> reader = surroundings_.store.Read(model_record_.strategy_state);
  if (!reader.ok()) return reader.status();
  for (const StrategyState& part : parts) {
    if (absl::Status status = ReadValues(*reader, part.values); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status HostedRun::LoadHistory() {
  absl::StatusOr<std::vector<HistoryRecord>> records = surroundings_.store.History(name());
  if (!records.ok()) return records.status();
  for (const HistoryRecord& record : *records) {
    absl::StatusOr<RoundLine> line = DecodeRoundLine(record.document);
    if (!line.ok()) return line.status();
    totals_.refused_updates += line->refused;
    totals_.declined_tasks += line->declined;
    // A return to an earlier model counts what the round lost that was under way.
    totals_.accepted_updates += line->accepted;
    history_.push_back(std::make_shared<const RoundLine>(*std::move(line)));
  }
  if (!state_.open_round()) return absl::OkStatus();
  totals_.refused_updates += refused_;
  totals_.accepted_updates += state_.accepted().size();
  return absl::OkStatus();
}

absl::Status HostedRun::AddUpAgain(std::vector<Submission> submissions) {
  const std::optional<RoundStarted>& open = state_.open_round();
  if (!open) return absl::OkStatus();
  asked_ = static_cast<std::uint32_t>(open->asked.size());
  submissions_ = std::move(submissions);
  if (sum_) sum_->Start(open->fixed_point);
  for (const Submission& each : submissions_) {
    if (absl::Status status = AddUp(each.document, each.file); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status HostedRun::RollBack(std::uint32_t round) {
  if (!health_.ok()) return health_;
  const auto found = std::ranges::find(models_, round, &ModelRecord::round);
  if (found == models_.end()) {
    return absl::NotFoundError(fmt::format("run \"{}\": the model of round {} is not kept", name(), round));
  }
  const ModelRecord record = *found;
  absl::StatusOr<CheckedReader> reader = surroundings_.store.Read(record.file);
  if (!reader.ok()) return reader.status();
  std::string header(layout_.file_header.size(), '\0');
  absl::Status status = reader->Read(header.data(), header.size()).status();
  if (status.ok()) status = ReadValues(*reader, model_);
  // From here on the model in memory is another one.
  if (!Healthy(status)) return health_;

  RunEvents events;
  Sha256 identity{};
  std::memcpy(identity.data(), record.sha256.data(), std::min(identity.size(), record.sha256.size()));
  RoundLine line = MakeLine(round, 0, {});
  line.rolled_back = true;
  line.model_sha256 = record.sha256;
  state_.ReplaceModel(identity, surroundings_.clock.SteadyNs(), events);
  submissions_.clear();
  model_record_ = record;
  if (!Healthy(LoadStrategyState()) ||
      !Healthy(surroundings_.store.RollBack(name(), round, Document(), {0, round, EncodeRoundLine(line)}))) {
    return health_;
  }
  spdlog::info("run {}: back to the model after round {}", name(), round);
  history_.push_back(std::make_shared<const RoundLine>(std::move(line)));
  return absl::OkStatus();
}

}  // namespace tributary
