#include "fpga/model/fusion_program.h"

#include <algorithm>
#include <cstddef>

namespace tributary::fpga {
namespace {

enum class Unit { kMultiplier, kAdder, kFunction, kOutput, kInput };
inline constexpr std::size_t kUnits = 4;

struct Node {
  Unit unit = Unit::kInput;
  FusionStep::Operation operation = {};
  std::vector<std::size_t> operands = {};
  std::size_t index = 0;  // input element, or the number of the result in its unit
  int ready = 0;          // first cycle in which the result can be read
  int way = 0;            // cycles from issue to the end of the program, at least
  bool issued = false;
};

int LatencyOf(Unit unit) {
  switch (unit) {
    case Unit::kMultiplier:
      return FusionLatency::kMultiply;
    case Unit::kAdder:
      return FusionLatency::kAdd;
    case Unit::kFunction:
      return FusionLatency::kApply;
    default:
      return 1;
  }
}

// Records the operations instead of executing them. Operands come before their users.
class Recorder {
 public:
  using Value = std::size_t;

  Value Input(std::size_t element) { return Push({.unit = Unit::kInput, .index = element, .issued = true}); }
  Value Multiply(Value a, Value b) { return Push({.unit = Unit::kMultiplier, .operands = {a, b}}); }
  Value Add(Value a, Value b) { return Push({.unit = Unit::kAdder, .operands = {a, b}}); }
  Value Subtract(Value a, Value b) {
    return Push({.unit = Unit::kAdder, .operation = {.subtract = true}, .operands = {a, b}});
  }
  Value Apply(FusionFunction function, Value x) {
    return Push({.unit = Unit::kFunction, .operation = {.function = function}, .operands = {x}});
  }
  void Output(Value x) { Push({.unit = Unit::kOutput, .operands = {x}}); }
  std::vector<Node> Take() { return std::move(nodes_); }

 private:
  Value Push(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }
  std::vector<Node> nodes_;
};

std::vector<Node> Record() {
  Recorder recorder;
  std::array<FusionOperands<std::size_t>, kFusionPanels> panels;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    panels[i].x = recorder.Input(8 * i);
    panels[i].y = recorder.Input(8 * i + 1);
    panels[i].l11 = recorder.Input(8 * i + 2);
    panels[i].l21 = recorder.Input(8 * i + 3);
    panels[i].l22 = recorder.Input(8 * i + 4);
  }
  const FusionOperands<std::size_t> result = FusePanels(recorder, panels);
  for (const std::size_t value : {result.x, result.y, result.l11, result.l21, result.l22})
    recorder.Output(value);
  return recorder.Take();
}

void MeasureWays(std::vector<Node>& nodes) {
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    node->way += LatencyOf(node->unit);
    for (const std::size_t operand : node->operands)
      nodes[operand].way = std::max(nodes[operand].way, node->way);
  }
}

FusionSource SourceOf(const Node& node) {
  constexpr std::array kBanks = {FusionSource::kMultiplier, FusionSource::kAdder, FusionSource::kFunction};
  const bool input = node.unit == Unit::kInput;
  return {input ? FusionSource::kInput : kBanks[static_cast<std::size_t>(node.unit)],
          static_cast<int>(node.index)};
}

bool CanIssue(const std::vector<Node>& nodes, const Node& node, int cycle) {
  return !node.issued && std::all_of(node.operands.begin(), node.operands.end(), [&](std::size_t operand) {
    return nodes[operand].issued && nodes[operand].ready <= cycle;
  });
}

// The operation of a unit in this cycle: the ready one with the longest way to the end; outputs in order.
Node* Choose(std::vector<Node>& nodes, Unit unit, int cycle) {
  Node* chosen = nullptr;
  for (Node& node : nodes) {
    if (node.unit != unit || node.issued) continue;
    const bool possible = CanIssue(nodes, node, cycle);
    if (possible && (chosen == nullptr || node.way > chosen->way)) chosen = &node;
    if (unit == Unit::kOutput) break;
  }
  return chosen;
}

}  // namespace

std::vector<FusionStep> MakeFusionProgram() {
  std::vector<Node> nodes = Record();
  MeasureWays(nodes);
  std::array<std::size_t, kUnits> results = {};
  std::vector<FusionStep> program;
  const auto open = [&] {
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return !n.issued; });
  };
  for (int cycle = 0; open(); ++cycle) {
    FusionStep& step = program.emplace_back();
    const std::array<FusionStep::Operation*, kUnits> slots = {&step.multiply, &step.add, &step.apply,
                                                              &step.output};
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      Node* node = Choose(nodes, static_cast<Unit>(unit), cycle);
      if (node == nullptr) continue;
      node->issued = true;
      node->ready = cycle + LatencyOf(node->unit);
      node->index = results[unit]++;
      node->operation.valid = true;
      node->operation.a = SourceOf(nodes[node->operands.front()]);
      node->operation.b = SourceOf(nodes[node->operands.back()]);
      *slots[unit] = node->operation;
    }
  }
  return program;
}

}  // namespace tributary::fpga
