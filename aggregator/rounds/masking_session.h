// The aggregator's part in one round of secure aggregation: passes on what it cannot read, then takes the
// masks out of the sum.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/federation/accumulator.h"
#include "aggregator/federation/run_event.h"
#include "core/privacy/secure_aggregation.h"

namespace tributary {

// One round; one thread at a time. The steps follow RunState's; what a node sends again changes nothing. Lost
// with the process: the round then fails.
class MaskingSession {
 public:
  // Errors: InvalidArgument, naming what is wrong.
  absl::Status AddKeys(MaskingKeys keys);
  absl::Status AddShares(std::string_view from, std::vector<SealedShare> shares);
  absl::Status AddRevealed(RevealedShares shares);

  // Whether the node's message of that step is here: sent again, it is answered as the first was.
  bool HasTaken(RoundStep step, std::string_view node) const;

  // The nodes of the next step, ascending by name.
  absl::Status BeginSharing(const std::vector<std::string>& nodes, std::size_t threshold);
  void BeginTraining(std::vector<std::string> nodes) { masked_ = std::move(nodes); }
  void BeginUnmasking(std::vector<std::string> nodes);

  const MaskingRoster& roster() const { return roster_; }
  std::size_t threshold() const { return threshold_; }
  // The roster of those that shared: with whom a node masks.
  MaskingRoster masked_roster() const;
  std::vector<SealedShare> SharesFor(std::string_view node) const;
  const std::vector<std::string>& survivors() const { return survivors_; }
  const std::vector<std::string>& dropped() const { return dropped_; }

  // Errors: those of MaskRecovery::Create.
  absl::Status Unmask(std::string_view context, Accumulator& sum) const;

 private:
  std::map<std::string, MaskingKeys, std::less<>> keys_;
  MaskingRoster roster_;
  std::size_t threshold_ = 0;
  std::map<std::string, std::vector<SealedShare>, std::less<>> shares_;  // by sender
  std::vector<std::string> masked_;
  std::vector<std::string> survivors_;
  std::vector<std::string> dropped_;
  std::map<std::string, RevealedShares, std::less<>> revealed_;  // by sender
};

}  // namespace tributary
