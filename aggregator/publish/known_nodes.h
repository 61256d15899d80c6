// All nodes that an aggregator knows: those that report and those that learn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/publish/fleet.h"
#include "core/runtime/clock.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::publish {

// A node in one run of federated learning.
struct Learner {
  std::string node;
  v1::Learning learning;
};

// From any thread; returns at once.
using ListLearners = std::function<std::vector<Learner>()>;

// Thread-safe. Fleet and clock outlive it.
class KnownNodes {
 public:
  // `learners` may be empty: no federated learning. `sites`: the names of all sites.
  KnownNodes(const Fleet& fleet, ListLearners learners, std::vector<std::string> sites,
             const runtime::Clock& clock);

  // By site and name. With a site: the nodes that report to it. Without: those of every site, then those that
  // only learn. A node is known by its name: what learns under the name of a node that reports is that node.
  // NotFound: no such site.
  absl::StatusOr<v1::ListNodesResponse> List(const std::string& site) const;

 private:
  const Fleet* fleet_;
  ListLearners learners_;
  std::vector<std::string> sites_;
  const runtime::Clock* clock_;
};

}  // namespace tributary::publish
