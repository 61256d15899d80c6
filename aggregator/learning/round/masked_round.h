// A round of secure aggregation: keys, shares, masked updates, unmasking.
#pragma once

#include "aggregator/learning/round/plain_round.h"

namespace tributary::learning {

// Shares that reconstruct a secret when so many nodes advertised keys: a third may drop, and it is more than
// half, so that two disjoint groups of survivors cannot exist.
inline std::size_t MaskingThreshold(std::size_t nodes) { return nodes - nodes / 3; }

// A plain round between three more steps. Each step goes on with those that have done the one before, and
// fails with fewer than the quorum or the threshold. Unmasking ends as soon as the threshold is reached: more
// shares would not tell more.
class MaskedRound final : public PlainRound {
 public:
  // `config` must outlive it.
  MaskedRound(const RunConfig& config, RoundStarted started, std::int64_t deadline_ns);

  absl::Status FinishStep(std::string_view node, RoundStep step) override;
  std::optional<StepStarted> StepUnderWay() const override;
  std::size_t threshold() const override { return threshold_; }

 private:
  std::size_t Needed() const override;
  bool Complete() const override;
  RoundProgress EndStep(std::int64_t now_ns) override;

  std::size_t threshold_ = 0;
};

}  // namespace tributary::learning
