// Rounds that end with the asked nodes: plain ones and, with three more steps, those of secure aggregation.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "aggregator/learning/round/round.h"

namespace tributary::learning {
namespace {

// Who is asked in one step of a round, and which of them the step still waits for. An operation on one node
// costs O(log n), the counts cost nothing.
class Turnout {
 public:
  void Add(std::string_view node) { waiting_ += places_.try_emplace(std::string(node)).second; }

  bool Asked(std::string_view node) const { return places_.contains(node); }
  // The node is one that was asked.
  Standing StandingOf(std::string_view node) const {
    const Place place = places_.find(node)->second;
    if (place.done) return Standing::kNotAwaited;
    return place.given_up ? Standing::kGivenUp : Standing::kAwaited;
  }

  // Both ignore a node that is not asked. A node that has given up may still finish.
  void Finish(std::string_view node) {
    const auto found = places_.find(node);
    if (found == places_.end() || found->second.done) return;
    waiting_ -= found->second.waiting();
    found->second.done = true;
    ++done_;
  }
  void GiveUp(std::string_view node) {
    const auto found = places_.find(node);
    if (found == places_.end()) return;
    waiting_ -= found->second.waiting();
    found->second.given_up = true;
  }

  std::size_t asked() const { return places_.size(); }
  std::size_t done() const { return done_; }
  std::size_t waiting() const { return waiting_; }  // neither done nor given up

  // O(n). Ascending.
  std::vector<std::string> Nodes() const {
    std::vector<std::string> nodes;
    for (const auto& [node, place] : places_) nodes.push_back(node);
    return nodes;
  }
  // O(n). Those that are done are asked again, and nobody else.
  void BeginNextStep() {
    std::erase_if(places_, [](const auto& each) { return !each.second.done; });
    for (auto& [node, place] : places_) place = {};
    waiting_ = places_.size();
    done_ = 0;
  }

 private:
  struct Place {
    bool done = false;
    bool given_up = false;

    bool waiting() const { return !done && !given_up; }
  };

  std::map<std::string, Place, std::less<>> places_;
  std::size_t done_ = 0;
  std::size_t waiting_ = 0;
};

class PlainRound : public Round {
 public:
  PlainRound(const RunConfig& config, RoundPlan plan, RoundStep first = RoundStep::kTraining)
      : Round(std::move(plan), first), config_(config) {
    for (const v1::AskedNode& each : started().asked()) turnout_.Add(each.node());
  }

  Standing StandingOf(const v1::Participant& node) const override {
    return turnout_.Asked(node.node()) ? turnout_.StandingOf(node.node()) : Standing::kNotAwaited;
  }
  bool Covers(std::uint32_t round) const override { return round == number(); }
  std::optional<Admission> Refuse(const v1::UpdateHeader& header, const v1::Participant& sender,
                                  std::size_t earlier_models, std::int64_t now_ns) const override;
  Admission Weigh(const v1::UpdateHeader& header, double weight) const override;
  void GiveUp(std::string_view node) override { turnout_.GiveUp(node); }
  RoundProgress Advance(std::int64_t now_ns) override;
  std::vector<std::string> Missing() const override;

 protected:
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
  std::optional<Admission> RefuseContributors(const v1::UpdateHeader& header) const;
  std::string WhyTooFew() const;

  const RunConfig& config_;
  Turnout turnout_;  // of the present step
};

std::optional<Admission> PlainRound::Refuse(const v1::UpdateHeader& header, const v1::Participant& /*sender*/,
                                            std::size_t /*earlier_models*/, std::int64_t now_ns) const {
  if (header.round() < number() || step() > RoundStep::kTraining) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_STALE, "round {} is over", header.round());
  }
  if (step() < RoundStep::kTraining || !turnout_.Asked(header.node())) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_ASKED, "{} was not asked for an update in round {}",
                              header.node(), header.round());
  }
  if (HasDeclined(header.node())) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_NOT_ASKED, "{} declined round {}", header.node(),
                              header.round());
  }
  if (now_ns > deadline_ns()) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_LATE, "the deadline of round {} has passed", header.round());
  }
  return std::nullopt;
}

Admission PlainRound::Weigh(const v1::UpdateHeader& header, double weight) const {
  if (auto refusal = RefuseContributors(header)) return *std::move(refusal);
  const v1::AskedNode* asked = Asked(header.node());
  if (weight <= asked->weight()) return Admission::Go(weight);
  return Admission::Refused(v1::SUBMIT_REFUSAL_SAMPLE_COUNT, "{} samples, {} had declared {}",
                            header.sample_count(), header.node(), asked->sample_count());
}

// Whether the contributors of a partial sum add up, and none of them counts elsewhere. Null if they may
// count.
std::optional<Admission> PlainRound::RefuseContributors(const v1::UpdateHeader& header) const {
  if (header.contributors().empty()) return std::nullopt;
  std::set<std::string_view> seen;
  std::vector<std::string> elsewhere;
  const auto contributors = static_cast<std::size_t>(header.contributors_size());
  std::uint64_t samples = 0;
  for (const v1::Contributor& each : header.contributors()) {
    const std::string& node = each.node();
    const std::uint64_t sample_count = each.sample_count();
    if (node.empty() || node == header.node() || !seen.insert(node).second) {
      return Admission::Refused(v1::SUBMIT_REFUSAL_CONTRIBUTORS,
                                "\"{}\" is empty, named twice or the sender itself", node);
    }
    // Nobody speaks for a node that speaks for itself, whoever comes first.
    if (turnout_.Asked(node) || updates().Counts(node)) elsewhere.push_back(node);
    if (sample_count == 0 || sample_count > header.sample_count() - samples) {
      return Admission::Refused(v1::SUBMIT_REFUSAL_CONTRIBUTORS, "the samples of {} do not fit the sum",
                                node);
    }
    samples += sample_count;
  }
  if (samples != header.sample_count()) {
    return Admission::Refused(v1::SUBMIT_REFUSAL_CONTRIBUTORS, "{} samples, the contributors have {}",
                              header.sample_count(), samples);
  }
  if (elsewhere.empty()) return std::nullopt;
  Admission refusal = Admission::Refused(
      v1::SUBMIT_REFUSAL_CONTRIBUTORS, "{} takes part itself or has been counted already, as {} others of {}",
      elsewhere.front(), elsewhere.size() - 1, contributors);
  if (elsewhere.size() == contributors) return refusal;  // nothing would be left
  elsewhere.resize(std::min(elsewhere.size(), Admission::kNamed));
  refusal.counted_elsewhere = std::move(elsewhere);
  return refusal;
}

RoundProgress PlainRound::Advance(std::int64_t now_ns) {
  if (step() == RoundStep::kClosing) return {};
  const std::size_t needed = Needed();
  const bool out_of_reach = turnout_.asked() < needed + declined_in_step();
  if (!Complete() && !out_of_reach && now_ns < deadline_ns()) return {};
  if (turnout_.done() >= needed) return EndStep(now_ns);
  return {RoundTurn::kFailed, WhyTooFew()};
}

void PlainRound::BeginNextStep(RoundStep step, std::int64_t deadline_ns) {
  turnout_.BeginNextStep();
  BeginStep(step, deadline_ns);
}

std::vector<std::string> PlainRound::Missing() const {
  std::vector<std::string> missing;
  for (const v1::AskedNode& each : started().asked()) {
    if (!updates().Counts(each.node())) missing.push_back(each.node());
  }
  return missing;
}

std::string PlainRound::WhyTooFew() const {
  std::string why =
      fmt::format("{} of {} nodes answered, {} are needed", turnout_.done(), turnout_.asked(), Needed());
  if (line().declines().empty()) return why;
  const v1::RoundDecline& first = line().declines(0);
  return why + fmt::format("; {} declined, {} because of {}: {}", line().declined(), first.node(),
                           first.reason(), first.message());
}

class MaskedRound final : public PlainRound {
 public:
  MaskedRound(const RunConfig& config, RoundPlan plan)
      : PlainRound(config, std::move(plan), RoundStep::kKeys) {}

  absl::Status FinishStep(std::string_view node, RoundStep at) override {
    if (at != step() || at == RoundStep::kTraining || at == RoundStep::kClosing) {
      return absl::FailedPreconditionError(fmt::format("round {} is not at that step", number()));
    }
    if (!turnout().Asked(node)) {
      return absl::FailedPreconditionError(
          fmt::format("{} was not asked for that in round {}", node, number()));
    }
    Finish(node);
    return absl::OkStatus();
  }
  std::vector<std::string> StepNodes() const override { return turnout().Nodes(); }

 private:
  std::size_t Needed() const override {
    if (step() == RoundStep::kUnmasking) return threshold_;
    return std::max<std::size_t>(config().quorum, threshold_);
  }
  bool Complete() const override {
    return step() == RoundStep::kUnmasking ? turnout().done() >= Needed() : PlainRound::Complete();
  }
  RoundProgress EndStep(std::int64_t now_ns) override {
    static constexpr RoundStep kNext[] = {RoundStep::kShares, RoundStep::kTraining, RoundStep::kUnmasking};
    if (step() >= RoundStep::kUnmasking) return Close();
    if (step() == RoundStep::kKeys) threshold_ = MaskingThreshold(turnout().done());
    BeginNextStep(kNext[static_cast<std::size_t>(step())], now_ns + config().deadline_ns);
    return {RoundTurn::kStep};
  }

  std::size_t threshold_ = 0;
};

}  // namespace

std::unique_ptr<Round> MakeRound(const RunConfig& config, RoundPlan plan) {
  if (config.asynchronous()) return MakeBufferedRound(config, std::move(plan));
  if (config.privacy.secure_aggregation) return std::make_unique<MaskedRound>(config, std::move(plan));
  return std::make_unique<PlainRound>(config, std::move(plan));
}

}  // namespace tributary::learning
