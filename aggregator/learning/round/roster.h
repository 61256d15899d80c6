// Who takes part in a run: what the nodes say of themselves, and how many of them can be asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/learning/run_config.h"
#include "core/parameters/tensor.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/run.pb.h"
#include "tributary/v1/store.pb.h"

namespace tributary::learning {

// Errors: FailedPrecondition for a schema or a capability that the run cannot use; InvalidArgument for an
// absurd sample count or an empty name.
absl::Status CheckDeclaration(const v1::ParticipateRequest& declaration, const RunConfig& config,
                              const parameters::Sha256& schema);

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
  // Who gives its place to a newcomer first. A node of which an update counts keeps its place while it is
  // connected, so does one that was left out: it would come back as if nothing had happened.
  enum class Claim : std::uint8_t {
    kLeft,             // nothing of it was ever accepted
    kNoSamples,        // connected; it can do nothing, and nothing of it was ever accepted
    kLeftWithUpdates,  // the model has what it sent
    kKeeps,
  };

  struct Node {
    v1::Participant status;
    v1::ParticipateRequest declaration;
    bool left_out = false;  // it broke the protocol: status.cannot_train says how, until a restart

    // Since the aggregator was started; others are known from the store.
    bool joined() const { return !declaration.node().empty(); }
    bool unable() const { return status.connected() && !status.cannot_train().empty(); }
    bool ready() const { return status.connected() && status.sample_count() > 0 && !unable(); }
    Claim claim() const;
  };

  using Nodes = std::map<std::string, Node, std::less<>>;

  const Node* Find(std::string_view name) const;  // null: unknown

  // A known node keeps its place, whatever its boot_id. Unless it was left out, another declaration or
  // boot_id takes back that it cannot train.
  void Join(const v1::ParticipateRequest& declaration);
  // Returns whether the node is that process; otherwise nothing changes.
  bool Leave(std::string_view name, std::string_view boot_id);

  // Forgets the node with the weakest claim that is below `keeps` and not `needed`. False: there is none
  // among the first kMostLooked, for everybody may ask and be refused.
  static constexpr std::size_t kMostLooked = 64;
  bool ForgetOne(Claim keeps, const std::function<bool(const v1::Participant&)>& needed);

  // The following ignore an unknown node.
  void LeaveOut(std::string_view name, const std::string& reason);
  void CountAccepted(std::string_view name, std::uint32_t round);
  void CountRefused(std::string_view name, const std::string& why);
  void CountDropped(std::string_view name);
  void CountDeclined(const v1::DeclineTaskRequest& decline, std::uint32_t round);

  // After a restart: what was known of a node, who was asked, and whose updates were accepted. Their
  // submissions are recognised before they join again.
  void Restore(const v1::Participant& status);
  void RestoreAsked(const v1::AskedNode& asked);
  void RestoreAccepted(const std::string& name, std::uint32_t round);

  // O(n). Ascending by name.
  std::vector<v1::AskedNode> Ready(UpdateWeighting weighting) const;
  const Nodes& nodes() const { return nodes_; }

  // Notes every node that an operation above has changed; others may add to it.
  ChangeLog& changes() { return changes_; }

  std::size_t known() const { return nodes_.size(); }
  std::size_t joined() const { return joined_; }
  std::size_t connected() const { return connected_; }
  std::size_t ready() const { return ready_; }    // connected, with samples, can train
  std::size_t unable() const { return unable_; }  // connected, cannot train
  std::uint64_t ready_samples() const { return ready_samples_; }

 private:
  // Applies `change` to the node, if it is known, brings the counts up to date and logs the change.
  template <class Change>
  void Update(std::string_view name, Change change);
  Node& Know(const std::string& name);
  void Count(const std::string& name, const Node& node);
  void Uncount(const std::string& name, const Node& node);

  Nodes nodes_;
  std::set<std::pair<Claim, std::string>> forgettable_;
  std::size_t joined_ = 0;
  std::size_t connected_ = 0;
  std::size_t ready_ = 0;
  std::size_t unable_ = 0;
  std::uint64_t ready_samples_ = 0;
  ChangeLog changes_;
};

}  // namespace tributary::learning
