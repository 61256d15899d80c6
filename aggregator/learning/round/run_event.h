// What changes in a run. A caller stores it before it tells anybody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/learning/round/submission.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/task_answer.h"

namespace tributary::learning {

inline constexpr std::int64_t kNoDeadline = INT64_MAX;

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
  // Ascending by name. FedBuff: those that had joined. Every node may send, and weighs at most as much as the
  // heaviest of these.
  std::vector<AskedNode> asked;
  parameters::FixedPoint fixed_point;
};
// Secure aggregation: the nodes that take part in this step, ascending.
struct StepStarted {
  std::uint32_t round = 0;
  RoundStep step = RoundStep::kTraining;
  std::vector<std::string> nodes;
};
// Who said in a round that it cannot do its task.
struct DeclinedTasks {
  struct One {
    std::string node;
    parameters::TaskDecline decline;
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

// What an operation has changed, in the order in which a caller has to act on it. A caller stores it before
// it answers anybody.
struct RunOutcome {
  std::optional<RoundFailed> failed;
  std::optional<RoundStarted> started;
  std::optional<StepStarted> step;  // of the round under way, secure aggregation
  std::optional<RoundClosed> closed;
  bool state_changed = false;  // paused, resumed, stopped, finished, another model: store the snapshot

  bool empty() const { return !failed && !started && !step && !closed && !state_changed; }
};

}  // namespace tributary::learning
