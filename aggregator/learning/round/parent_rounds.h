// The rounds of a relayed run: a parent sets each round's number, model, fixed point and deadline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aggregator/learning/round/round_source.h"
#include "core/learning/run_config.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/identity.h"

namespace tributary::learning {

// A round of a relayed run, as the parent asks for it.
struct ParentRound {
  std::uint32_t round = 0;
  parameters::Sha256 model{};
  parameters::FixedPoint fixed_point;
  std::uint64_t sample_count = 0;  // that the sum may weigh: what was declared when the parent began
  std::int64_t deadline_ns = 0;    // steady; of the nodes
};

// Gathers the nodes: a round starts as soon as nodes with all those samples are connected, or when kGatherNs
// have passed (half the time, if that is less). It asks nodes in the order of their names, as far as their
// samples fit.
class ParentRounds final : public RoundSource {
 public:
  static constexpr std::int64_t kGatherNs = 10'000'000'000;

  explicit ParentRounds(UpdateWeighting weighting) : weighting_(weighting) {}

  // The next round is this one, instead of another that has not started yet.
  void Begin(const ParentRound& round, std::int64_t now_ns);
  // The round of that number is given up before it started; without a number, whichever it is.
  void Forget(std::optional<std::uint32_t> round = std::nullopt);
  bool gathering() const { return next_.has_value(); }

  std::optional<RoundPlan> Next(const Roster& roster, std::uint32_t& last_round,
                                std::int64_t now_ns) override;
  std::int64_t next_ns(std::int64_t now_ns) const override;
  std::string StatusMessage(const Roster& roster, std::uint32_t last_round) const override;

 private:
  UpdateWeighting weighting_;
  std::optional<ParentRound> next_;  // not yet started
  std::int64_t gathered_ns_ = 0;     // when it starts with those that are there
  std::int64_t retry_ns_ = 0;        // the nodes' samples did not add up: not tried again before
};

}  // namespace tributary::learning
