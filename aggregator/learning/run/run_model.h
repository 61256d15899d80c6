// A run's present model and what its strategy remembers, in memory and as files of the store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/rules/strategy.h"
#include "aggregator/store/store.h"
#include "core/parameters/flat_model.h"

namespace tributary::learning {

// A model in a file that is not committed yet, and what the store records of it.
struct WrittenModel {
  store::ModelRecord record;
  store::DurableFile file;
};

// One thread at a time. Memory: one float per parameter, beside what the strategy remembers.
class RunModel {
 public:
  RunModel(const StrategyOptions& options, parameters::FlatModel model);

  // Writes the model after `round`, whose identity the caller knows, and what the strategy remembers
  // (nothing: no file).
  absl::StatusOr<WrittenModel> Write(store::Store& store, std::string_view run, std::uint32_t round,
                                     const parameters::Sha256& identity, std::int64_t unix_ns) const;
  absl::StatusOr<std::optional<store::DurableFile>> WriteStrategyState(store::Store& store,
                                                                       std::string_view run,
                                                                       std::uint32_t round) const;
  // Takes the model of that record out of the store, also after Release; or only what the strategy remembered
  // with it (where nothing was kept, the strategy is a new one). DataLoss: what is stored is damaged.
  absl::Status Load(const store::Store& store, const store::ModelRecord& record);
  absl::Status LoadStrategyState(const store::Store& store, const store::ModelRecord& record);

  // The server's step. Errors: those of Strategy::Step.
  absl::Status Step(std::span<const float> combined, double total_weight) {
    return strategy_->Step(combined, values_, total_weight);
  }

  // Another model of the same layout; or none in memory, for it is in its file.
  void Replace(std::vector<float> values) { values_ = std::move(values); }
  void Forget() { values_ = {}; }
  // Keeps neither the model nor what the strategy remembers in memory: the run has ended.
  void Release();
  bool released() const { return strategy_ == nullptr; }

  const parameters::ModelLayout& layout() const { return layout_; }
  const Strategy& strategy() const { return *strategy_; }  // not after Release
  parameters::Sha256 Identity() const { return parameters::FlatIdentity(layout_.tensors, values_); }

 private:
  const StrategyOptions options_;
  parameters::ModelLayout layout_;
  std::vector<float> values_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace tributary::learning
