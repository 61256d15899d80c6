#include "aggregator/learning/run/journal.h"

#include <utility>

#include "aggregator/learning/run/messages.h"
#include "aggregator/learning/run/run_record.h"
#include "aggregator/store/store_reader.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

store::HistoryRecord HistoryOf(const v1::Round& line) {
  return {0, 0, line.round(), line.SerializeAsString()};
}

// Null: there is none, or it cannot be read.
Journal::Line LineOf(const absl::StatusOr<std::vector<store::HistoryRecord>>& records) {
  if (!records.ok() || records->empty()) return nullptr;
  auto line = ParseStored<v1::Round>(records->front().document, "history");
  return line.ok() ? std::make_shared<const v1::Round>(*std::move(line)) : nullptr;
}

}  // namespace

absl::Status Journal::AddRun(const std::string& config, const v1::StoredRun& state, WrittenModel model) {
  model_ = std::move(model.record);
  return surroundings_.store.AddRun(
      {run_, config, state.SerializeAsString(), model_.created_unix_ns, model_.round}, model_,
      std::move(model.file));
}

absl::Status Journal::Reload(const store::ModelRecord& model) {
  model_ = model;
  ASSIGN_OR_RETURN(const auto reader, store::StoreReader::Open(surroundings_.store.folder()));
  last_committed_ = LineOf(reader->LastCommitted(run_));
  last_evaluated_ = LineOf(reader->LastEvaluated(run_));
  ASSIGN_OR_RETURN(const auto lines, reader->LinesBefore(run_, 0, 1));
  if (lines.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(v1::Round last, ParseStored<v1::Round>(lines.front().document, "history"));
  last_ = std::make_shared<const v1::Round>(std::move(last));
  return absl::OkStatus();
}

absl::Status Journal::Save(const v1::StoredRun& state) {
  return surroundings_.store.SaveDocument(run_, state.SerializeAsString());
}

absl::StatusOr<std::vector<KeptUpdate>> Journal::Stage(std::span<const std::unique_ptr<Upload>> uploads) {
  std::vector<KeptUpdate> staged;
  std::vector<store::ArrivedUpdate> arrived;
  for (const std::unique_ptr<Upload>& each : uploads) {
    v1::StoredUpdate& record = staged.emplace_back().record;
    *record.mutable_header() = each->header();
    record.set_norm(each->norm());
    record.set_payload_bytes(each->payload_bytes());
    arrived.push_back({each->bytes(), each->TakeFile()});
  }
  absl::StatusOr<std::vector<store::FileFacts>> places = surroundings_.store.Stage(run_, arrived);
  if (!places.ok()) {
    SayRefused(std::string(places.status().message()));
    return places.status();
  }
  refuses_updates_ = false;
  for (std::size_t i = 0; i < staged.size(); ++i) staged[i].file = std::move((*places)[i]);
  return staged;
}

void Journal::SayRefused(std::string_view why) {
  refuses_updates_ = true;
  if (const auto more = refusal_lines_.Admit(surroundings_.clock.SteadyNs())) {
    runtime::LogError("run {}: updates cannot be stored, nodes try again: {}{}", run_, why, *more);
  }
}

absl::Status Journal::Keep(std::span<const KeptUpdate> updates) {
  std::vector<store::SubmissionRecord> records;
  for (const KeptUpdate& each : updates) {
    records.push_back({each.header().node(), each.record.SerializeAsString(), each.file});
  }
  return surroundings_.store.AddSubmissions(run_, records);
}

void Journal::Note(v1::Round line) {
  ++history_changes_;
  last_ = std::make_shared<const v1::Round>(std::move(line));
  if (IsCommitted(*last_)) last_committed_ = last_;
}

absl::Status Journal::DropRound(const v1::StoredRun& state, v1::Round line) {
  RETURN_IF_ERROR(surroundings_.store.DropSubmissions(run_, state.SerializeAsString(), HistoryOf(line)));
  Note(std::move(line));
  return absl::OkStatus();
}

absl::Status Journal::CommitRound(const v1::StoredRun& state, v1::Round line, WrittenModel model,
                                  std::optional<store::DurableFile> strategy_state) {
  if (strategy_state) model.record.strategy_state = strategy_state->facts();
  RETURN_IF_ERROR(surroundings_.store.CommitRound(run_, state.SerializeAsString(), model.record,
                                                  std::move(model.file), std::move(strategy_state),
                                                  HistoryOf(line), surroundings_.keep_models));
  model_ = std::move(model.record);
  Note(std::move(line));
  return absl::OkStatus();
}

absl::Status Journal::RollBack(const v1::StoredRun& state, v1::Round line, const store::ModelRecord& model) {
  RETURN_IF_ERROR(
      surroundings_.store.RollBack(run_, line.round(), state.SerializeAsString(), HistoryOf(line)));
  model_ = model;
  Note(std::move(line));
  return absl::OkStatus();
}

absl::Status Journal::AddEvaluation(std::uint32_t round, const v1::Evaluation& evaluation) {
  const absl::StatusOr<std::string> stored = surroundings_.store.CommittedLine(run_, round);
  if (!stored.ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(v1::Round line, ParseStored<v1::Round>(*stored, "history"));
  *line.mutable_evaluation() = evaluation;
  RETURN_IF_ERROR(surroundings_.store.AmendHistory(run_, round, line.SerializeAsString()));
  ++history_changes_;
  last_evaluated_ = std::make_shared<const v1::Round>(std::move(line));
  for (Line* last : {&last_, &last_committed_}) {
    if (*last != nullptr && (*last)->round() == round && IsCommitted(**last)) *last = last_evaluated_;
  }
  return absl::OkStatus();
}

absl::Status Journal::ReplaceModel(const v1::StoredRun& state, WrittenModel model) {
  model_ = std::move(model.record);
  return surroundings_.store.ReplaceModels(run_, state.SerializeAsString(), model_, std::move(model.file));
}

}  // namespace tributary::learning
