// What a round's updates do to the model.
//
// Combining (how many updates become one delta) comes first, the server's step (what the delta does to the
// model) second. Most strategies combine by the weighted mean, which the Accumulator makes as updates arrive;
// the robust ones need every update at once: memory O(clients × model).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/learning/run_config.h"
#include "core/parameters/flat_model.h"

namespace tributary::learning {

// One node's update, decoded: w_k − w_g, flat.
struct NodeUpdate {
  std::string node;
  double weight = 0;
  std::span<const float> delta;
};

// Result and state depend only on what was passed in, bit for bit on every kind of processor. One thread at a
// time.
class Strategy {
 public:
  // `options` are within their limits (Validate of the run's configuration). `statistics`: those of the
  // model, ascending, within it.
  static std::unique_ptr<Strategy> Create(const StrategyOptions& options, std::size_t element_count,
                                          std::vector<parameters::StatisticRange> statistics = {});
  virtual ~Strategy() = default;

  // Whether Combine must be given the updates; otherwise the combined delta is the Accumulator's mean.
  virtual bool needs_every_update() const { return false; }

  // The fewest updates that Combine can work on.
  virtual std::size_t min_updates() const { return 1; }

  // The robust ones: one delta out of all updates, in any order (they are taken in the order of their names).
  // Errors: InvalidArgument for fewer than min_updates(), another size, a name that comes twice or a value
  // that is not finite. Weights do not count: a hostile node would choose its own.
  virtual absl::Status Combine(std::span<const NodeUpdate> updates, std::span<float> combined) const;

  // One round: the model in place. `total_weight`: what the mean was divided by; with uniform weights the
  // number of updates. Statistics move by the combined delta as it is, variances to zero at
  // least. Errors: InvalidArgument for another size; DataLoss if a parameter would not be finite any more
  // (model and state are then not to be used);
  // FailedPrecondition for a model that the strategy cannot train.
  absl::Status Step(std::span<const float> combined, std::span<float> model, double total_weight = 1);

  // What the strategy remembers between rounds, to be stored with the model: vectors of a fixed length
  // in a fixed order. Write into them to restore.
  virtual std::vector<std::span<float>> state() { return {}; }

  const StrategyOptions& options() const { return options_; }

 protected:
  Strategy(const StrategyOptions& options, std::size_t element_count)
      : options_(options), element_count_(element_count) {}

  std::size_t element_count() const { return element_count_; }

 private:
  // The part of the model from element `first` on: model += learning_rate · combined, unless a strategy does
  // more.
  virtual absl::Status Apply(std::size_t first, std::span<const float> combined, double total_weight,
                             std::span<float> model);

  StrategyOptions options_;
  std::size_t element_count_;
  std::vector<parameters::StatisticRange> statistics_;
};

// robust.cc: strategies that a minority of hostile updates cannot steer. Null unless the kind is kMedian,
// kTrimmedMean or kMultiKrum.
std::unique_ptr<Strategy> MakeRobust(const StrategyOptions& options, std::size_t element_count);

// second_order.cc: Levenberg-Marquardt steps from the sums of all boards, for beacon networks.
std::unique_ptr<Strategy> MakeSecondOrder(const StrategyOptions& options, std::size_t element_count);

}  // namespace tributary::learning
