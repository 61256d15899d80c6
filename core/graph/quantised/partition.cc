#include "core/graph/quantised/partition.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/graph/operation.h"

namespace tributary::graph {
namespace {

// Which layers have a reader, and which nodes still run in floats.
class Divider {
 public:
  Divider(const Graph& graph, const FoundLayers& found, const std::vector<bool>& runs)
      : graph_(graph), found_(found), alive_(found.layers.size()), floats_(runs), covered_(runs.size()) {
    FindLivingLayers();
    FindFloatNodes();
  }

  Partition Scheduled(const std::function<std::size_t(const FoundLayer&)>& target_of) && {
    CollectUnits(target_of);
    Partition partition;
    partition.covered = std::move(covered_);
    // Kahn, 1962, with a queue for each target; the queue of nodes is the last.
    std::optional<std::size_t> target;
    std::map<std::size_t, std::deque<std::size_t>> ready;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].missing == 0) ready[units_[u].target].push_back(u);
    }
    while (!ready.empty()) {
      const bool stays = target.has_value() && ready.contains(*target);
      const auto queue = stays ? ready.find(*target) : ready.begin();
      const Unit& unit = units_[queue->second.front()];
      queue->second.pop_front();
      if (queue->second.empty()) ready.erase(queue);
      if (unit.node != Part::kNoNode) {
        partition.parts.push_back({.node = unit.node});
      } else {
        if (!stays || partition.parts.empty() || partition.parts.back().node != Part::kNoNode) {
          partition.parts.push_back({.target = unit.target});
        }
        partition.parts.back().layers.push_back(unit.layer);
      }
      target = unit.target;
      for (const std::size_t reader : unit.readers) {
        if (--units_[reader].missing == 0) ready[units_[reader].target].push_back(reader);
      }
    }
    for (std::size_t p = 0; p < partition.parts.size(); ++p) KeepReads(p, partition);
    return partition;
  }

 private:
  void KeepReads(std::size_t part, Partition& partition) const {
    const auto keep = [&](int value) {
      std::vector<std::size_t>& readers = partition.readers[value];
      if (readers.empty() || readers.back() != part) readers.push_back(part);
    };
    const Part& here = partition.parts[part];
    for (const std::size_t l : here.layers) ForEachOperand(found_.layers[l].layer, keep);
    if (here.node == Part::kNoNode) return;
    for (const int value : graph_.nodes[here.node].inputs) keep(value);
  }

  static constexpr std::size_t kNodes = static_cast<std::size_t>(-1);  // the target of nodes

  struct Unit {
    std::size_t node = Part::kNoNode, layer = 0, target = kNodes;
    std::size_t missing = 0;
    std::vector<std::size_t> readers = {};
  };

  static void ForEachOperand(const QuantisedLayer& layer, const auto& act) {
    act(layer.input);
    if (layer.residual != kAbsent) act(layer.residual);
  }

  // A layer that gives a value of the graph lives; another one must have a reader.
  void FindLivingLayers() {
    std::set<int> read;
    for (std::size_t l = found_.layers.size(); l-- > 0;) {
      const FoundLayer& found = found_.layers[l];
      alive_[l] = !found.implied || read.contains(found.layer.output);
      if (alive_[l]) ForEachOperand(found.layer, [&](int tensor) { read.insert(tensor); });
    }
  }

  // A node that layers stand for runs itself if somebody else needs its floats.
  void FindFloatNodes() {
    std::vector<bool> within(graph_.nodes.size()), ends(graph_.nodes.size());
    for (std::size_t l = 0; l < found_.layers.size(); ++l) {
      if (!alive_[l]) continue;
      for (const std::size_t node : found_.layers[l].nodes) {
        within[node] = true;
        ends[node] = ends[node] || graph_.nodes[node].outputs[0] == found_.layers[l].layer.output;
      }
    }
    std::vector<bool> needed(graph_.values.size());
    for (const int value : graph_.outputs) needed[Size(value)] = true;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      if (!floats_[n]) continue;
      const Node& node = graph_.nodes[n];
      const bool wanted = std::ranges::any_of(node.outputs, [&](int value) { return needed[Size(value)]; });
      covered_[n] = within[n] && (ends[n] || !wanted);
      floats_[n] = !covered_[n];
      if (covered_[n]) continue;
      for (const int value : node.inputs) {
        if (value != kAbsent) needed[Size(value)] = true;
      }
    }
  }

  void CollectUnits(const std::function<std::size_t(const FoundLayer&)>& target_of) {
    std::map<int, std::size_t> sources;  // of a value or tensor: the unit
    for (std::size_t l = 0; l < found_.layers.size(); ++l) {
      if (!alive_[l]) continue;
      sources[found_.layers[l].layer.output] = units_.size();
      units_.push_back({.layer = l, .target = target_of(found_.layers[l])});
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!floats_[n]) continue;
      for (const int value : graph_.nodes[n].outputs) sources[value] = units_.size();
      units_.push_back({.node = n});
    }
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const auto reads = [&](int value) {
        const auto source = sources.find(value);
        if (source == sources.end()) return;
        units_[source->second].readers.push_back(u);
        ++units_[u].missing;
      };
      if (units_[u].node == Part::kNoNode) {
        ForEachOperand(found_.layers[units_[u].layer].layer, reads);
        continue;
      }
      for (const int value : graph_.nodes[units_[u].node].inputs) reads(value);
    }
  }

  const Graph& graph_;
  const FoundLayers& found_;
  std::vector<bool> alive_, floats_, covered_;
  std::vector<Unit> units_;
};

}  // namespace

Partition Divide(const Graph& graph, const FoundLayers& found, const std::vector<bool>& runs,
                 const std::function<std::size_t(const FoundLayer&)>& target_of) {
  return Divider(graph, found, runs).Scheduled(target_of);
}

DividedSection SectionOf(const Graph& graph, const FoundLayers& found, const Partition& partition,
                         std::size_t part) {
  const auto leaves = [&](int tensor) {
    if (std::ranges::count(graph.outputs, tensor) > 0) return true;
    const auto readers = partition.readers.find(tensor);
    return readers != partition.readers.end() &&
           std::ranges::any_of(readers->second, [part](std::size_t reader) { return reader != part; });
  };
  DividedSection divided;
  QuantisedSection& section = divided.section;
  std::map<int, int> places;
  const auto place_of = [&](int tensor, bool read) {
    const auto [place, added] = places.try_emplace(tensor, static_cast<int>(section.tensors.size()));
    if (added) {
      section.tensors.push_back(found.tensors.at(tensor));
      if (read) {
        section.inputs.push_back(place->second);
        divided.reads.push_back(tensor);
      }
    }
    return place->second;
  };
  for (const std::size_t l : partition.parts[part].layers) {
    QuantisedLayer layer = found.layers[l].layer;
    layer.input = place_of(layer.input, true);
    if (layer.residual != kAbsent) layer.residual = place_of(layer.residual, true);
    const int output = layer.output;
    layer.output = place_of(output, false);
    if (leaves(output)) {
      section.outputs.push_back(layer.output);
      divided.writes.push_back(output);
    }
    section.layers.push_back(std::move(layer));
  }
  return divided;
}

}  // namespace tributary::graph
