// The accepted updates of the round under way, and what they add up to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/accumulator.h"
#include "aggregator/learning/rules/node_clusters.h"
#include "aggregator/learning/rules/strategy.h"
#include "aggregator/learning/run/update_file.h"
#include "aggregator/store/store.h"

namespace tributary::learning {

// One thread at a time. Memory, in a round: one word per parameter, or, for a strategy that needs every
// update at once, all of them while they are combined. An update whose norm exceeds `clip_norm` (0: none) is
// scaled down to it.
class RoundSum {
 public:
  // `store` and `clusters` outlive it. `clusters` gets every update; null: nobody does.
  RoundSum(const store::Store& store, std::size_t element_count, bool every_update, double clip_norm,
           NodeClusters* clusters);

  // A round begins: no updates, sums in this fixed point.
  void Start(const parameters::FixedPoint& fixed_point);
  // `bytes`: those of its file where they are still in memory; empty: they are read. Errors: those of the
  // store and of Accumulator::Add. In a round, like all that follows.
  absl::Status Add(KeptUpdate update, std::string_view bytes = {});
  // The round again, with these updates alone.
  absl::Status AddUpAgain(const parameters::FixedPoint& fixed_point, std::vector<KeptUpdate> updates);
  // The round is over: gives the memory back.
  void Clear();

  // In the order in which they were accepted.
  const std::vector<KeptUpdate>& updates() const { return updates_; }
  // What their nodes say together: all samples and steps, the longest training, loss and spread as means
  // weighted by samples.
  v1::UpdateHeader Said() const;

  // One delta: the weighted mean, or what `strategy` makes of all updates. Valid until the next Start,
  // Combine or Clear. Errors: those of the store, of Accumulator::TakeMean and of Strategy::Combine.
  absl::StatusOr<std::span<float>> Combine(const Strategy& strategy, double total_weight);
  // The words: for masks, and for a partial sum. Not for a strategy that needs every update.
  Accumulator& words() { return *sum_; }
  const Accumulator& words() const { return *sum_; }

 private:
  absl::Status Give(const KeptUpdate& update, std::string_view bytes, const UpdateSink& sink) const;
  double ScaleOf(const KeptUpdate& update) const;

  const store::Store& store_;
  std::size_t element_count_;
  bool every_update_;
  double clip_norm_;
  NodeClusters* clusters_;
  std::optional<Accumulator> sum_;  // in a round, unless the strategy needs every update
  std::vector<float> combined_;     // of those that do
  std::vector<KeptUpdate> updates_;
};

}  // namespace tributary::learning
