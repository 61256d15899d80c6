// Which nodes of a run fit together, found from their updates (clustered federated learning, [Sattler21]).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/learning/rules/update_sketch.h"
#include "core/learning/run_config.h"
#include "core/parameters/flat_model.h"

namespace tributary::learning {

struct FoundClusters {
  std::vector<std::vector<std::string>> clusters = {};  // the largest first; nodes ascending
  std::vector<std::string> alone = {};                  // judged, and like no other
  double agreement = 0;                                 // Division::agreement; below 0: 0
  std::string why_none = {};                            // unless there are clusters
};

// What counts of an update is its direction, and how that differs from the mean direction of its round: one
// node weighs as much as another, however large its updates are. A difference lasts if it shows in even and
// in odd rounds alike; only products of one half with the other are looked at, in which chance has no share.
//
// Memory: 6 KiB per node, of kMaxNodes nodes at most; those seen last are kept. A node that has been away far
// longer than it used to be is not judged. Find costs some 20 ms for them. Does not depend on the order in
// which updates come. One thread at a time.
class NodeClusters {
 public:
  static constexpr std::size_t kMaxNodes = ClusterSettings::kMostNodes;
  static constexpr unsigned kRoundsOfHalf = 3;  // that a node must have taken part in, to be judged

  // Looks for 2 to `most` clusters. `statistics`: those of the model, ascending; they do not count.
  NodeClusters(std::size_t most, std::vector<parameters::StatisticRange> statistics);

  // A round begins, perhaps not for the first time: none of its updates has come.
  void StartRound() { coming_.clear(); }
  // A part of an update of the round. The caller has checked it.
  void Add(std::string_view node, std::size_t first, std::span<const float> values);
  // The round is committed: its updates count.
  void EndRound();

  FoundClusters Find() const;
  // There will be no other round: gives the memory back.
  void Release();

 private:
  struct Half {
    UpdateSketch mean = {};  // of the differences, earlier ones weighing less
    unsigned rounds = 0;
  };
  struct History {
    Half halves[2];
    std::uint64_t first_round = 0, last_round = 0;
  };

  void Remember(const std::string& node, const UpdateSketch& difference);
  bool Judges(const History& history) const;

  const std::size_t most_;
  const std::vector<parameters::StatisticRange> statistics_;
  std::map<std::string, UpdateSketch, std::less<>> coming_;
  std::map<std::string, History, std::less<>> nodes_;
  std::uint64_t rounds_ = 0;
};

}  // namespace tributary::learning
