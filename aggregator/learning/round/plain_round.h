// A round in which each asked node sends one update: it ends with the last of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aggregator/learning/round/round.h"
#include "aggregator/learning/round/turnout.h"

namespace tributary::learning {

// It is over when every asked node has answered or given up, when so many have declined that the quorum is
// out of reach, or at the deadline. With fewer updates than the quorum it has failed.
class PlainRound : public Round {
 public:
  // `config` must outlive it.
  PlainRound(const RunConfig& config, RoundStarted started, std::int64_t deadline_ns);

  Standing StandingOf(const ParticipantStatus& node) const override;
  bool Covers(std::uint32_t round) const override { return round == number(); }
  std::optional<Admission> Refuse(const SubmissionHeader& header, const ParticipantStatus& sender,
                                  const ModelVersions& versions, std::int64_t now_ns) const override;
  Admission Weigh(const SubmissionHeader& header, double weight) const override;
  void GiveUp(std::string_view node) override { turnout_.GiveUp(node); }
  RoundProgress Advance(std::int64_t now_ns) override;
  std::vector<std::string> Missing() const override;

 protected:
  PlainRound(const RunConfig& config, RoundStarted started, RoundStep first, std::int64_t deadline_ns);

  void Finish(std::string_view node) override { turnout_.Finish(node); }
  // The present step: how many nodes it needs, whether it waits for nobody, and what follows it.
  virtual std::size_t Needed() const { return config_.quorum; }
  virtual bool Complete() const { return turnout_.waiting() == 0; }
  virtual RoundProgress EndStep(std::int64_t /*now_ns*/) { return Close(); }

  const RunConfig& config() const { return config_; }
  const Turnout& turnout() const { return turnout_; }
  // The next step goes on with those that have done this one.
  void BeginNextStep(RoundStep step, std::int64_t deadline_ns);

 private:
  std::string WhyTooFew() const;

  const RunConfig& config_;
  Turnout turnout_;  // of the present step
};

}  // namespace tributary::learning
