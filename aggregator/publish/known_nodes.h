// All nodes that an aggregator knows: those that report and those that learn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "aggregator/publish/fleet.h"

namespace tributary::publish {

// A node in one run of federated learning.
struct LearningStatus {
  std::string node;
  std::string run;  // empty: it waits for one
  bool connected = false;
  std::uint64_t sample_count = 0;
  std::uint32_t last_round = 0;  // the last round in which an update of it was accepted; 0: none
  std::uint64_t accepted_updates = 0;
  std::uint64_t refused_updates = 0;
  std::uint64_t dropped_rounds = 0;
  std::string last_refusal;
};

// Any thread may call; returns at once.
using ListLearners = std::function<std::vector<LearningStatus>()>;

struct KnownNode {
  NodeStatus report;  // without a site if it only learns: then only its name and `connected` are set
  std::vector<LearningStatus> learns;  // the runs in which it takes part
};

// Ascending by site and name. With a site: the nodes that report to it. Without: the nodes of every site,
// then those that only learn. A node is known by its name: a learner with the name of a reporting node is
// that node. `learners` may be empty.
std::vector<KnownNode> ListKnownNodes(const Fleet& fleet, const ListLearners& learners,
                                      const std::string& site);

}  // namespace tributary::publish
