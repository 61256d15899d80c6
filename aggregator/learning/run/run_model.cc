#include "aggregator/learning/run/run_model.h"

#include <algorithm>
#include <utility>

#include "core/parameters/flat_model.h"
#include "core/status/macros.h"

namespace tributary::learning {
namespace {

absl::Status AppendAll(store::DurableFile& file, std::string_view bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  while (!bytes.empty()) {
    RETURN_IF_ERROR(file.Append(bytes.substr(0, kBlock)));
    bytes.remove_prefix(std::min(kBlock, bytes.size()));
  }
  return absl::OkStatus();
}

// Into memory that is there already.
absl::Status ReadValues(store::CheckedReader& reader, std::span<float> values) {
  ASSIGN_OR_RETURN(const std::size_t got,
                   reader.Read(reinterpret_cast<char*>(values.data()), values.size_bytes()));
  return got == values.size_bytes() ? absl::OkStatus() : absl::DataLossError("a stored vector ends early");
}

std::unique_ptr<Strategy> NewStrategy(const StrategyOptions& options, const parameters::ModelLayout& layout) {
  return Strategy::Create(options, layout.element_count, parameters::FindStatistics(layout.tensors));
}

}  // namespace

RunModel::RunModel(const StrategyOptions& options, parameters::FlatModel model)
    : options_(options),
      layout_(std::move(model.layout)),
      values_(std::move(model.values)),
      strategy_(NewStrategy(options, layout_)) {}

void RunModel::Release() {
  Forget();
  strategy_ = nullptr;
}

absl::StatusOr<WrittenModel> RunModel::Write(store::Store& store, std::string_view run, std::uint32_t round,
                                             const parameters::Sha256& identity, std::int64_t unix_ns) const {
  ASSIGN_OR_RETURN(store::DurableFile file, store.NewModel(run, round));
  RETURN_IF_ERROR(file.Append(layout_.file_header));
  RETURN_IF_ERROR(AppendAll(file, parameters::BytesOf(values_)));
  store::ModelRecord record{
      round, parameters::BytesOf(identity), layout_.element_count, unix_ns, file.facts(), {}};
  return WrittenModel{std::move(record), std::move(file)};
}

absl::StatusOr<std::optional<store::DurableFile>> RunModel::WriteStrategyState(store::Store& store,
                                                                               std::string_view run,
                                                                               std::uint32_t round) const {
  const std::vector<std::span<float>> state = strategy_->state();
  if (state.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(store::DurableFile file, store.NewStrategyState(run, round));
  for (const std::span<float> part : state) RETURN_IF_ERROR(AppendAll(file, parameters::BytesOf(part)));
  return std::optional<store::DurableFile>(std::move(file));
}

absl::Status RunModel::Load(const store::Store& store, const store::ModelRecord& record) {
  ASSIGN_OR_RETURN(store::CheckedReader reader, store.Read(record.file));
  std::string header(layout_.file_header.size(), '\0');
  RETURN_IF_ERROR(reader.Read(header.data(), header.size()).status());
  values_.resize(layout_.element_count);
  RETURN_IF_ERROR(ReadValues(reader, values_));
  return LoadStrategyState(store, record);
}

absl::Status RunModel::LoadStrategyState(const store::Store& store, const store::ModelRecord& record) {
  if (record.strategy_state.name.empty() || released()) strategy_ = NewStrategy(options_, layout_);
  if (record.strategy_state.name.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(store::CheckedReader reader, store.Read(record.strategy_state));
  for (const std::span<float> part : strategy_->state()) RETURN_IF_ERROR(ReadValues(reader, part));
  return absl::OkStatus();
}

}  // namespace tributary::learning
