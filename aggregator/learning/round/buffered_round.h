// A round of FedBuff: one version of the model, which the first updates to come make go on.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/learning/round/round.h"

namespace tributary::learning {

// Every node of the run may send, from this version or one of the few before; a stale update weighs less. The
// round is over when the buffer is full, or at the deadline if the quorum is there. Otherwise it waits on
// with another deadline and asks those again that had given up. It never fails by itself.
class BufferedRound final : public Round {
 public:
  // `config` must outlive it.
  BufferedRound(const RunConfig& config, RoundStarted started, std::int64_t deadline_ns);

  Standing StandingOf(const ParticipantStatus& node) const override;
  // The version that a node trains from may be an older one.
  bool Covers(std::uint32_t round) const override { return round <= number(); }
  std::optional<Admission> Refuse(const SubmissionHeader& header, const ParticipantStatus& sender,
                                  const ModelVersions& versions, std::int64_t now_ns) const override;
  Admission Weigh(const SubmissionHeader& header, double weight) const override;
  void GiveUp(std::string_view node) override { given_up_.emplace(node); }
  RoundProgress Advance(std::int64_t now_ns) override;
  std::vector<std::string> Missing() const override { return {}; }  // nobody is waited for by name

 private:
  void Finish(std::string_view node) override;

  const RunConfig& config_;
  double heaviest_ = 0;  // of those that had joined when it began: no update weighs more
  std::set<std::string, std::less<>> given_up_;
};

}  // namespace tributary::learning
