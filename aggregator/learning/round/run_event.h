// What changes in a run: to be stored before anybody is told.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "aggregator/learning/round/submission.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/task_decline.h"

namespace tributary {

// The steps of a round, in order. Without secure aggregation: kTraining and kClosing only.
enum class RoundStep : std::uint8_t { kKeys, kShares, kTraining, kUnmasking, kClosing };

struct AskedNode {
  std::string node;
  double weight = 0;               // largest that its update may have
  std::uint64_t sample_count = 0;  // declared
  bool partial_sums = false;       // it sends those of nodes of its own, and nothing else

  friend bool operator==(const AskedNode&, const AskedNode&) = default;
};

struct AcceptedUpdate {
  SubmissionHeader header;
  double weight = 0;  // by which it is added: samples or 1, times the staleness weight of FedBuff
};

// The accumulator starts afresh with this fixed point.
struct RoundStarted {
  std::uint32_t round = 0;
  // Ascending by name. For FedBuff those that had joined: everyone may send, and weighs at most as much as
  // the heaviest of them.
  std::vector<AskedNode> asked;
  FixedPoint fixed_point;
};
// Of secure aggregation: the nodes that take part in this step, ascending.
struct StepStarted {
  std::uint32_t round = 0;
  RoundStep step = RoundStep::kTraining;
  std::vector<std::string> nodes;
};
struct UpdateAccepted {
  std::uint32_t round = 0;  // under way; header.round is older for a stale update of FedBuff
  AcceptedUpdate update;
};
// Who said in a round that it cannot do its task.
struct DeclinedTasks {
  struct One {
    std::string node;
    TaskDecline decline;
  };
  static constexpr std::size_t kNamed = 8;  // a crowd must not fill the history

  std::uint32_t count = 0;
  std::vector<One> named;  // the first of them
};

// Combine what was accepted, step the model, store it, then call RunState::Commit.
struct RoundClosed {
  std::uint32_t round = 0;
  double total_weight = 0;
  std::vector<std::string> dropped;  // asked, and nothing came
};
// Nothing changes in the model; what was accepted is void. Another round follows, with the next number.
struct RoundFailed {
  std::uint32_t round = 0;
  std::string reason;
  std::vector<std::string> dropped;
  DeclinedTasks declined;  // of those
};
struct RunPaused {};
struct RunResumed {};
struct RunEnded {
  bool finished = false;  // all rounds are committed; otherwise stopped by an operator
};

using RunEvent = std::variant<RoundStarted, StepStarted, UpdateAccepted, RoundClosed, RoundFailed, RunPaused,
                              RunResumed, RunEnded>;
using RunEvents = std::vector<RunEvent>;

}  // namespace tributary
