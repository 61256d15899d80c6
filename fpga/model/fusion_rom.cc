#include "fpga/model/fusion_rom.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tributary::fpga {
namespace {

enum class Unit { kMultiplier, kAdder, kFunction, kOutput, kInput };
constexpr std::size_t kUnits = 4;  // that issue operations
// Cycles from the issue of an operation to the first cycle in which its result can be read.
constexpr std::array<int, 5> kLatency = {5, 5, 10, 1, 1};

int LatencyOf(Unit unit) { return kLatency[static_cast<std::size_t>(unit)]; }

struct Node {
  Unit unit = Unit::kInput;
  FusionStep::Operation operation = {};
  std::vector<std::size_t> operands = {};
  std::size_t index = 0;  // input element, or the number of the result in its unit
  int ready = 0;          // first cycle in which the result can be read
  int way = 0;            // cycles from issue to the end of the program, at least
  bool issued = false;
};

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
    panels[i] = {recorder.Input(8 * i), recorder.Input(8 * i + 1), recorder.Input(8 * i + 2),
                 recorder.Input(8 * i + 3), recorder.Input(8 * i + 4)};
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

// The operation of a unit in this cycle: the ready one with the longest way to the end; outputs in order.
Node* Choose(std::vector<Node>& nodes, Unit unit, int cycle) {
  Node* chosen = nullptr;
  for (Node& node : nodes) {
    if (node.unit != unit || node.issued) continue;
    const bool possible = std::ranges::all_of(node.operands, [&](std::size_t operand) {
      return nodes[operand].issued && nodes[operand].ready <= cycle;
    });
    if (possible && (chosen == nullptr || node.way > chosen->way)) chosen = &node;
    if (unit == Unit::kOutput) break;
  }
  return chosen;
}

std::uint64_t Field(std::int64_t value, int bits, int position) {
  return (static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1)) << position;
}

std::string Rom(std::string_view module, std::string_view comment, int address_bits, int data_bits,
                std::span<const std::string> words) {
  std::string text = fmt::format(
      "// {}\n// Written by fpga/model/fusion_rom.cc (target fusion_roms): do not edit.\n"
      "module {} (\n  input  logic        clk_i,\n  input  logic [{}:0]  address_i,\n"
      "  output logic [{}:0] data_o\n);\n  always_ff @(posedge clk_i) begin\n    unique case (address_i)\n",
      comment, module, address_bits - 1, data_bits - 1);
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += fmt::format("      {}'d{}: data_o <= {}'h{};\n", address_bits, i, data_bits, words[i]);
  }
  if (words.size() < std::size_t{1} << address_bits) text += "      default: data_o <= '0;\n";
  return text + "    endcase\n  end\nendmodule\n";
}

int Encode(const FusionSource& source) { return source.bank << 6 | source.index; }

std::uint64_t Encode(const FusionStep& step, bool last) {
  return Field(Encode(step.multiply.a), 8, 0) | Field(Encode(step.multiply.b), 8, 8) |
         Field(step.multiply.valid, 1, 16) | Field(Encode(step.add.a), 8, 17) |
         Field(Encode(step.add.b), 8, 25) | Field(step.add.subtract, 1, 33) | Field(step.add.valid, 1, 34) |
         Field(Encode(step.apply.a), 8, 35) | Field(static_cast<int>(step.apply.function), 2, 43) |
         Field(step.apply.valid, 1, 45) | Field(Encode(step.output.a), 8, 46) |
         Field(step.output.valid, 1, 54) | Field(last, 1, 55);
}

}  // namespace

std::vector<FusionStep> MakeFusionProgram() {
  std::vector<Node> nodes = Record();
  MeasureWays(nodes);
  std::array<std::size_t, kUnits> results = {};
  std::vector<FusionStep> program;
  for (int cycle = 0; !std::ranges::all_of(nodes, &Node::issued); ++cycle) {
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

std::string FusionTableSource() {
  std::vector<std::string> words;
  for (const FunctionSegment& s : FusionFunctionTable()) {
    words.push_back(
        fmt::format("{:08x}{:011x}", Field(s.c0, 32, 0), Field(s.c1, 25, 19) | Field(s.c2, 19, 0)));
  }
  return Rom("fusion_table", "Quadratic polynomials: c0 in bits 75…44, c1 in 43…19, c2 in 18…0.", 10, 76,
             words);
}

std::string FusionProgramSource() {
  const std::vector<FusionStep> program = MakeFusionProgram();
  std::vector<std::string> words;
  for (std::size_t i = 0; i < program.size(); ++i) {
    words.push_back(fmt::format("{:014x}", Encode(program[i], i + 1 == program.size())));
  }
  return Rom("fusion_program",
             "The program. Bits from 0: multiply a 8, b 8, valid; add a 8, b 8, subtract, valid; apply a 8, "
             "function 2,\n"
             "// valid; output a 8, valid; last step. Operands are {bank 2, index 6}.",
             8, 56, words);
}

}  // namespace tributary::fpga
