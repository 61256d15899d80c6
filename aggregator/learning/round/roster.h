// Who takes part in a run: what the nodes say of themselves, and how many of them can be asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/round/run_event.h"
#include "core/learning/run_config.h"
#include "core/parameters/task_answer.h"
#include "core/parameters/tensor.h"
#include "core/parameters/update_encoding.h"

namespace tributary::learning {

struct NodeDeclaration {
  std::string node;
  std::string boot_id;
  std::optional<parameters::Sha256> schema;  // of a model that it has
  std::uint64_t sample_count = 0;            // 0: not known yet; not asked until it joins again and says
  std::vector<std::string> workloads;
  std::vector<parameters::UpdateEncoding> encodings;  // empty: all
  bool secure_aggregation = false;
  bool partial_sums = false;  // its updates are sums of those of nodes of its own

  friend bool operator==(const NodeDeclaration&, const NodeDeclaration&) = default;
};

// Errors: FailedPrecondition for a schema or a capability that the run cannot use; InvalidArgument for an
// absurd sample count or an empty name.
absl::Status CheckDeclaration(const NodeDeclaration& declaration, const RunConfig& config,
                              const parameters::Sha256& schema);

struct ParticipantStatus {
  std::string node;
  bool connected = false;
  std::uint64_t sample_count = 0;
  std::uint32_t last_round = 0;  // in which an update of it was accepted; 0: none
  std::uint64_t accepted_updates = 0;
  std::uint64_t refused_updates = 0;
  std::uint64_t dropped_rounds = 0;
  std::string last_refusal;  // of an update of it, or of a task by it
  std::uint64_t declined_tasks = 0;
  std::string cannot_train;  // why it is not asked; empty: it is
};

double WeightOf(UpdateWeighting weighting, std::uint64_t sample_count);

// Whose task or status may have changed: what a caller has to tell, and to whom.
struct ChangedNodes {
  bool everyone = false;
  std::vector<std::string> nodes;  // ascending, each once; empty if everyone
};

// Bounded: beyond kNamed names it says everyone, so that nothing is lost. One thread at a time.
class ChangeLog {
 public:
  static constexpr std::size_t kNamed = 256;

  void Add(std::string_view node) {
    if (!everyone_) names_.emplace(node);
    if (names_.size() > kNamed) AddEveryone();
  }
  void AddEveryone() {
    everyone_ = true;
    names_.clear();
  }
  // What has changed since the last call.
  ChangedNodes Take() {
    ChangedNodes changed{everyone_, {names_.begin(), names_.end()}};
    everyone_ = false;
    names_.clear();
    return changed;
  }

 private:
  bool everyone_ = false;
  std::set<std::string, std::less<>> names_;
};

// Owns the nodes, their statuses and the log of what changed. It keeps count as they change: a count costs
// nothing, a change of one node O(log n). How many may join is the caller's limit. One thread at a time.
class Roster {
 public:
  struct Node {
    ParticipantStatus status;
    NodeDeclaration declaration;
    bool left_out = false;  // it broke the protocol: status.cannot_train says how, until a restart

    bool ready() const { return status.connected && status.sample_count > 0 && status.cannot_train.empty(); }
    bool unable() const { return status.connected && !status.cannot_train.empty(); }
  };

  const Node* Find(std::string_view name) const;  // null: unknown

  // A known node keeps its place, whatever its boot_id. Unless it was left out, another declaration or
  // boot_id takes back that it cannot train.
  void Join(const NodeDeclaration& declaration);
  // Returns whether the node is that process; otherwise nothing changes.
  bool Leave(std::string_view name, std::string_view boot_id);

  // The following ignore an unknown node.
  void LeaveOut(std::string_view name, std::string_view reason);
  void CountAccepted(std::string_view name, std::uint32_t round);
  void CountRefused(std::string_view name, std::string_view why);
  void CountDropped(std::string_view name);
  void CountDeclined(std::string_view name, std::uint32_t round, const parameters::TaskDecline& decline);

  // After a restart, each as it was, but not connected.
  void Restore(const ParticipantStatus& status);
  // Known even where the stored statuses lack it, so that its submission is recognised.
  void RestoreAsked(const AskedNode& asked);
  void RestoreAccepted(std::string_view name, std::uint32_t round);

  // O(n). Ascending by name.
  std::vector<AskedNode> Ready(UpdateWeighting weighting) const;
  std::vector<ParticipantStatus> Statuses() const;

  // Notes every node that an operation above has changed; others may add to it.
  ChangeLog& changes() { return changes_; }

  std::size_t joined() const { return nodes_.size(); }
  std::size_t connected() const { return connected_; }
  std::size_t ready() const { return ready_; }    // connected, with samples, can train
  std::size_t unable() const { return unable_; }  // connected, cannot train
  std::uint64_t ready_samples() const { return ready_samples_; }

 private:
  // Applies `change` to the node, if it is known, brings the counts up to date and logs the change.
  template <class Change>
  void Update(std::string_view name, Change change);

  std::map<std::string, Node, std::less<>> nodes_;
  std::size_t connected_ = 0;
  std::size_t ready_ = 0;
  std::size_t unable_ = 0;
  std::uint64_t ready_samples_ = 0;
  ChangeLog changes_;
};

}  // namespace tributary::learning
