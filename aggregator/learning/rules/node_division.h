// Divides nodes into groups whose updates differ from the mean in one direction.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "aggregator/learning/rules/update_sketch.h"

namespace tributary::learning {

// What is left of a node's updates, each of length 1, once the mean of their rounds is taken away: its mean
// over half of the rounds, and over the other half.
struct Halves {
  const UpdateSketch *even, *odd;
};

using Members = std::vector<std::size_t>;  // places in the list of nodes

struct Division {
  std::vector<Members> groups = {};  // of one node or more; each node is in one
  // How far a node's difference points where those of its group do: the mean cosine of the nodes that are not
  // alone, times their share of all; at most 1. Nodes that differ more weigh more, up to a limit.
  double agreement = 0;
  double needed = 0;  // with less the groups are chance, or not worth a model each
};

// Two nodes are compared by the even rounds of one and the odd rounds of the other: what a round has by
// chance is in one factor alone, and adds nothing on average. Joins the two groups that are most alike, again
// and again (average linkage), and takes of the divisions into up to `most` groups of several nodes that with
// the fewest groups which agrees as well as the best, but for chance; a node of it that points elsewhere than
// its group is then alone. A node whose halves contradict each other is alone. Nothing: there is none. O(n³)
// for n nodes, some 20 ms for 255.
std::optional<Division> Divide(const std::vector<Halves>& nodes, std::size_t most);

}  // namespace tributary::learning
