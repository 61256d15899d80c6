// Where a run's rounds come from: the aggregator's own drawing of lots, or a parent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/learning/round/roster.h"
#include "aggregator/learning/round/round.h"
#include "core/learning/run_config.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/tensor.h"

namespace tributary::learning {

class RoundSource {
 public:
  virtual ~RoundSource() = default;

  // The next round, if it can start; a caller asks only while none is under way. `last_round` is the last
  // number that was used, and moves on. O(n) at most a few times a second and when a round starts.
  virtual std::optional<RoundPlan> Next(const Roster& roster, std::uint32_t& last_round,
                                        std::int64_t now_ns) = 0;
  // When Next may give more than it did, though the roster stays as it is; kNoDeadline: never.
  virtual std::int64_t next_ns(std::int64_t now_ns) const = 0;
  // What the next round waits for.
  virtual std::string StatusMessage(const Roster& roster, std::uint32_t last_round) const = 0;

  // A round failed before its deadline.
  virtual void Rest(std::int64_t /*deadline_ns*/, std::int64_t /*now_ns*/) {}
  // A round was committed: the next rest is a short one.
  virtual void EndRests() {}
};

// The rounds of an aggregator's own run: each asks a share of the nodes that are ready, drawn by lot. A round
// that failed before its deadline, because nodes declined or broke the protocol, is not followed by the next
// at once: rounds would be burnt as fast as nodes let them fail. Each such failure in a row doubles the rest,
// up to a minute or what is left of the deadline. A draw that misses the quorum again and again rests as
// well.
class DrawnRounds final : public RoundSource {
 public:
  // `config` must outlive it. Who is asked is drawn from `lots` as well.
  DrawnRounds(const RunConfig& config, std::uint64_t lots) : config_(config), lots_(lots) {}

  void Rest(std::int64_t deadline_ns, std::int64_t now_ns) override;
  void EndRests() override;
  std::optional<RoundPlan> Next(const Roster& roster, std::uint32_t& last_round,
                                std::int64_t now_ns) override;
  std::int64_t next_ns(std::int64_t now_ns) const override;
  std::string StatusMessage(const Roster& roster, std::uint32_t last_round) const override;

 private:
  static constexpr std::int64_t kFirstRestNs = 1'000'000'000;

  bool Chosen(std::string_view node, std::uint32_t round) const;
  // Nodes that are ready.
  std::size_t required() const { return std::max(config_.min_nodes, config_.quorum); }

  const RunConfig& config_;
  const std::uint64_t lots_;
  std::size_t failed_ = 0;  // rounds before their deadline, in a row
  std::int64_t next_rest_ns_ = kFirstRestNs;
  std::int64_t rest_ns_ = 0;        // the present one, or the last
  std::int64_t rest_until_ns_ = 0;  // no round starts before; 0: none failed so
  std::size_t too_heavy_ = 0;       // nodes that the last draw left out
};

// A round of a relayed run, as the parent asks for it.
struct ParentRound {
  std::uint32_t round = 0;
  parameters::Sha256 model{};
  parameters::FixedPoint fixed_point;
  std::uint64_t sample_count = 0;   // that the sum may weigh: what was declared when the parent began
  std::int64_t deadline_ns = 0;     // steady; of the nodes
  std::uint32_t failed_rounds = 0;  // of the parent, before this one
};

// The rounds of a relayed run: a parent sets each round's number, model, fixed point and deadline. Gathers
// the nodes: a round starts as soon as nodes with all those samples are connected, or when kGatherNs have
// passed (half the time, if that is less). It asks nodes in the order of their names, as far as their samples
// fit.
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
