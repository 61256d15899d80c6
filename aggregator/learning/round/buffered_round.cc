// Rounds of FedBuff.
#include <algorithm>
#include <cmath>
#include <utility>

#include "aggregator/learning/round/round.h"

namespace tributary::learning {
namespace {

class BufferedRound final : public Round {
 public:
  BufferedRound(const RunConfig& config, RoundPlan plan)
      : Round(std::move(plan), RoundStep::kTraining), config_(config) {
    for (const v1::AskedNode& each : started().asked()) heaviest_ = std::max(heaviest_, each.weight());
  }

  Standing StandingOf(const v1::Participant& node) const override {
    if (node.last_round() >= number() || updates().Counts(node.node())) return Standing::kNotAwaited;
    // Without samples it has no task, but may still decline the one that it had.
    const bool given_up = node.sample_count() == 0 || given_up_.contains(node.node());
    return given_up ? Standing::kGivenUp : Standing::kAwaited;
  }
  // The version that a node trains from may be an older one.
  bool Covers(std::uint32_t round) const override { return round <= number(); }

  std::optional<Admission> Refuse(const v1::UpdateHeader& header, const v1::Participant& sender,
                                  std::size_t earlier_models, std::int64_t /*now_ns*/) const override {
    if (step() != RoundStep::kTraining) {
      return Admission::TryAgain(v1::SUBMIT_REFUSAL_BUSY, "round {} is being averaged", number());
    }
    const std::uint32_t staleness = number() - header.round();
    if (header.round() == 0 || staleness > earlier_models) {
      return Admission::Refused(v1::SUBMIT_REFUSAL_STALE, "round {} is {} behind, at most {} are taken",
                                header.round(), staleness, earlier_models);
    }
    if (header.round() < sender.last_round()) {
      return Admission::Refused(v1::SUBMIT_REFUSAL_STALE, "a newer update of this node has been taken");
    }
    // One that kept quiet for some versions must not fill the buffer, and the quorum, by itself.
    if (updates().Counts(header.node())) {
      return Admission::TryAgain(v1::SUBMIT_REFUSAL_BUSY, "version {} has an update of {} already", number(),
                                 header.node());
    }
    return std::nullopt;
  }
  Admission Weigh(const v1::UpdateHeader& header, double weight) const override {
    return Admission::Go(std::min(weight, heaviest_) *
                         std::pow(1.0 + (number() - header.round()), -config_.buffer.staleness_exponent));
  }
  void GiveUp(std::string_view node) override { given_up_.emplace(node); }

  RoundProgress Advance(std::int64_t now_ns) override {
    if (step() == RoundStep::kClosing) return {};
    const bool full = updates().count() >= config_.buffer.size;
    if (!full && now_ns < deadline_ns()) return {};
    if (updates().count() >= config_.quorum) return Close();
    MoveDeadline(now_ns + config_.deadline_ns);  // nothing is lost by waiting on
    given_up_.clear();                           // what kept them may have passed
    ForgetDeclines();
    return {RoundTurn::kProlonged};
  }
  std::vector<std::string> Missing() const override { return {}; }  // nobody is waited for by name

 private:
  void Finish(std::string_view node) override { given_up_.erase(std::string(node)); }

  const RunConfig& config_;
  double heaviest_ = 0;  // of those that had joined when it began: no update weighs more
  std::set<std::string, std::less<>> given_up_;
};

}  // namespace

std::unique_ptr<Round> MakeBufferedRound(const RunConfig& config, RoundPlan plan) {
  return std::make_unique<BufferedRound>(config, std::move(plan));
}

}  // namespace tributary::learning
