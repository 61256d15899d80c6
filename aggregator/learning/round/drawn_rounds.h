// The rounds of an aggregator's own run: each asks a share of the nodes that are ready, drawn by lot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/learning/round/round_source.h"
#include "core/learning/run_config.h"

namespace tributary::learning {

// A round that failed before its deadline because nodes declined is not followed by the next at once: rounds
// would be burnt as fast as nodes decline them. Each such failure in a row doubles the rest, up to a minute
// or what is left of the deadline. A draw that misses the quorum again and again rests as well.
class DrawnRounds final : public RoundSource {
 public:
  // `config` must outlive it.
  explicit DrawnRounds(const RunConfig& config);

  // Who is asked is drawn from this as well. 0 at first.
  void DrawLotsBy(std::uint64_t secret) { secret_ = secret; }
  // A round failed before its deadline: too many had declined.
  void Rest(std::int64_t deadline_ns, std::int64_t now_ns);
  void EndRests();  // a round was committed: the next rest is a short one

  std::optional<RoundPlan> Next(const Roster& roster, std::uint32_t& last_round,
                                std::int64_t now_ns) override;
  std::int64_t next_ns(std::int64_t now_ns) const override;
  std::string StatusMessage(const Roster& roster, std::uint32_t last_round) const override;

 private:
  bool Chosen(std::string_view node, std::uint32_t round) const;
  std::size_t required() const;  // nodes that are ready

  const RunConfig& config_;
  std::uint64_t secret_ = 0;
  std::int64_t rest_ns_;
  std::int64_t rest_until_ns_ = 0;  // no round starts before; 0: none failed so
};

}  // namespace tributary::learning
