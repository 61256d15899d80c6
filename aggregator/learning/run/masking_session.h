// The aggregator's part in one round of secure aggregation: passes on what it cannot read, then takes the
// masks out of the sum.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/round/accumulator.h"
#include "aggregator/learning/round/round.h"
#include "core/privacy/secure_aggregation.h"

namespace tributary::learning {

// What a node has done of a step.
struct MaskingMessage {
  std::uint32_t round = 0;
  std::string node;
  std::variant<privacy::MaskingKeys, std::vector<privacy::SealedShare>, privacy::RevealedShares> content;

  RoundStep step() const {
    constexpr RoundStep kSteps[] = {RoundStep::kKeys, RoundStep::kShares, RoundStep::kUnmasking};
    return kSteps[content.index()];
  }
};

// One round; one thread at a time. The steps follow RunRules'; what a node sends again changes nothing. Lost
// with the process: the round then fails.
//
// What would keep all others from going on is refused when it comes: keys that nobody can agree with, shares
// that are not those that were given out. Whose secrets cannot be recovered by the end is at fault.
class MaskingSession {
 public:
  // MaskingContext
  explicit MaskingSession(std::string context) : context_(std::move(context)) {}

  // Errors: InvalidArgument, naming what is wrong.
  absl::Status Take(MaskingMessage message);
  // `nodes` take part in the step, ascending by name. Errors: InvalidArgument for a roster that
  // cannot mask together.
  absl::Status Begin(RoundStep step, std::vector<std::string> nodes);

  // Whether the node's message of that step is here: sent again, it is answered as the first was.
  bool HasTaken(RoundStep step, std::string_view node) const;

  const privacy::MaskingRoster& roster() const { return roster_; }
  std::size_t threshold() const { return threshold_; }
  // The roster of those that shared: with whom a node masks.
  privacy::MaskingRoster masked_roster() const;
  std::vector<privacy::SealedShare> SharesFor(std::string_view node) const;
  const std::vector<std::string>& survivors() const { return survivors_; }
  const std::vector<std::string>& dropped() const { return dropped_; }

  // Whether there are enough shares of every secret. A node reveals none of what it was given no good share
  // of.
  bool CanUnmask() const;
  bool AllRevealed() const { return revealed_.size() == survivors_.size(); }
  std::vector<std::string> revealers() const;
  // Errors: those of MaskRecovery::Create.
  absl::Status Unmask(Accumulator& sum);
  // Whose lies made the round fail: its shares do not give what it had advertised, or more nodes than may
  // drop say that theirs are no good.
  std::vector<std::string> at_fault() const;

 private:
  absl::Status AddKeys(const privacy::MaskingKeys& keys);
  absl::Status AddShares(std::string_view from, std::vector<privacy::SealedShare>&& shares);
  absl::Status AddRevealed(const privacy::RevealedShares& shares);
  absl::Status CheckAsked(const std::vector<privacy::RevealedShare>& shares,
                          const std::vector<std::string>& owners) const;
  const privacy::SealedShare* Given(std::string_view from, std::string_view to) const;

  const std::string context_;
  std::map<std::string, privacy::MaskingKeys, std::less<>> keys_;
  privacy::MaskingRoster roster_;
  std::size_t threshold_ = 0;
  std::map<std::string, std::vector<privacy::SealedShare>, std::less<>> shares_;  // by sender
  std::vector<std::string> masked_;
  std::vector<std::string> survivors_;
  std::vector<std::string> dropped_;
  std::map<std::string, privacy::RevealedShares, std::less<>> revealed_;  // by sender
  std::map<std::string, std::size_t, std::less<>> shares_of_;             // revealed, by whose secret it is
  std::string liar_;                                                      // empty: none is known
};

}  // namespace tributary::learning
