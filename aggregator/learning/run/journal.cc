#include "aggregator/learning/run/journal.h"

#include <utility>

#include "aggregator/learning/run/stored.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

store::HistoryRecord RecordOf(const v1::Round& line) {
  return {0, 0, line.round(), line.SerializeAsString()};
}

}  // namespace

absl::Status Journal::AddRun(const std::string& config, std::int64_t started_unix_ns,
                             const v1::StoredRun& state, const store::ModelRecord& model,
                             store::DurableFile file) {
  return store_.AddRun({run_, config, state.SerializeAsString(), started_unix_ns, model.round}, model,
                       std::move(file));
}

absl::Status Journal::Save(const v1::StoredRun& state) {
  return store_.SaveDocument(run_, state.SerializeAsString());
}

absl::StatusOr<std::vector<KeptUpdate>> Journal::Stage(std::span<const std::unique_ptr<Upload>> uploads) {
  std::vector<KeptUpdate> staged;
  std::vector<store::ArrivedUpdate> arrived;
  for (const std::unique_ptr<Upload>& each : uploads) {
    staged.push_back({each->header(), 0, each->norm(), each->payload_bytes(), {}});
    arrived.push_back({each->bytes(), each->TakeFile()});
  }
  ASSIGN_OR_RETURN(std::vector<store::FileFacts> places, store_.Stage(run_, arrived));
  for (std::size_t i = 0; i < staged.size(); ++i) staged[i].file = std::move(places[i]);
  return staged;
}

absl::Status Journal::Keep(std::span<const KeptUpdate> updates) {
  std::vector<store::SubmissionRecord> records;
  for (const KeptUpdate& each : updates) records.push_back({each.header.node, EncodeUpdate(each), each.file});
  return store_.AddSubmissions(run_, records);
}

absl::Status Journal::Changed(absl::Status status) {
  if (status.ok()) ++history_changes_;
  return status;
}

absl::Status Journal::DropRound(const v1::StoredRun& state, const v1::Round& line) {
  return Changed(store_.DropSubmissions(run_, state.SerializeAsString(), RecordOf(line)));
}

absl::Status Journal::CommitRound(const v1::StoredRun& state, const v1::Round& line,
                                  const store::ModelRecord& model, store::DurableFile file,
                                  std::optional<store::DurableFile> strategy_state) {
  return Changed(store_.CommitRound(run_, state.SerializeAsString(), model, std::move(file),
                                    std::move(strategy_state), RecordOf(line), keep_models_));
}

absl::Status Journal::RollBack(const v1::StoredRun& state, const v1::Round& line) {
  return Changed(store_.RollBack(run_, line.round(), state.SerializeAsString(), RecordOf(line)));
}

absl::Status Journal::Amend(const v1::Round& line) {
  return Changed(store_.AmendHistory(run_, line.round(), line.SerializeAsString()));
}

absl::Status Journal::ReplaceModel(const v1::StoredRun& state, const store::ModelRecord& model,
                                   store::DurableFile file) {
  return store_.ReplaceModels(run_, state.SerializeAsString(), model, std::move(file));
}

}  // namespace tributary::learning
