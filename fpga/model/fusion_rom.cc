#include "fpga/model/fusion_rom.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "fpga/model/fusion_algorithm.h"

namespace tributary::fpga {
namespace {

// In the order of the banks of operands.
enum Unit { kMultiplier, kAdder, kFunction, kInput, kOutput };
constexpr std::size_t kUnits = 5;
// Cycles from the issue of an operation to the first cycle in which its result can be read.
constexpr std::array<int, kUnits> kLatency = {5, 5, 10, 1, 1};

struct Node {
  Unit unit = kInput;
  std::vector<std::size_t> operands = {};
  std::uint64_t option = 0;  // adder: subtract; function unit: the function
  std::size_t index = 0;     // input element, or the number of the result in its unit
  int ready = 0;             // first cycle in which the result can be read
  int way = 0;               // cycles from issue to the end of the program, at least
  bool issued = false;
};

// Records the operations instead of executing them. Operands come before their users.
class Recorder {
 public:
  using Value = std::size_t;

  Value Input(std::size_t element) { return Push({.unit = kInput, .index = element, .issued = true}); }
  Value Multiply(Value a, Value b) { return Push({.unit = kMultiplier, .operands = {a, b}}); }
  Value Add(Value a, Value b) { return Push({.unit = kAdder, .operands = {a, b}}); }
  Value Subtract(Value a, Value b) { return Push({.unit = kAdder, .operands = {a, b}, .option = 1}); }
  Value Apply(FusionFunction function, Value x) {
    return Push({.unit = kFunction, .operands = {x}, .option = static_cast<std::uint64_t>(function)});
  }
  void Output(Value x) { Push({.unit = kOutput, .operands = {x}}); }
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
    node->way += kLatency[node->unit];
    for (const std::size_t operand : node->operands)
      nodes[operand].way = std::max(nodes[operand].way, node->way);
  }
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
    if (unit == kOutput) break;
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

// The operation's part of the word.
std::uint64_t Encode(const Node& node, const std::vector<Node>& nodes) {
  const auto source = [&](std::size_t operand) {
    return std::uint64_t{nodes[operand].unit} << 6 | nodes[operand].index;
  };
  const std::uint64_t a = source(node.operands.front());
  const std::uint64_t b = source(node.operands.back());
  constexpr std::uint64_t kValid = 1;
  switch (node.unit) {
    case kMultiplier:
      return a | b << 8 | kValid << 16;
    case kAdder:
      return a << 17 | b << 25 | node.option << 33 | kValid << 34;
    case kFunction:
      return a << 35 | node.option << 43 | kValid << 45;
    case kOutput:
      return a << 46 | kValid << 54;
    case kInput:
      break;
  }
  return 0;
}

}  // namespace

std::vector<std::uint64_t> MakeFusionProgram() {
  constexpr std::uint64_t kLast = std::uint64_t{1} << 55;
  std::vector<Node> nodes = Record();
  MeasureWays(nodes);
  std::array<std::size_t, kUnits> results = {};
  std::vector<std::uint64_t> program;
  for (int cycle = 0; !std::ranges::all_of(nodes, &Node::issued); ++cycle) {
    std::uint64_t& word = program.emplace_back(0);
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      Node* node = Choose(nodes, static_cast<Unit>(unit), cycle);
      if (node == nullptr) continue;
      node->issued = true;
      node->ready = cycle + kLatency[unit];
      node->index = results[unit]++;
      word |= Encode(*node, nodes);
    }
  }
  program.back() |= kLast;
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
  std::vector<std::string> words;
  for (const std::uint64_t word : MakeFusionProgram()) words.push_back(fmt::format("{:014x}", word));
  return Rom("fusion_program",
             "The program. Bits from 0: multiply a 8, b 8, valid; add a 8, b 8, subtract, valid; apply a 8, "
             "function 2,\n"
             "// valid; output a 8, valid; last step. Operands are {bank 2, index 6}.",
             8, 56, words);
}

}  // namespace tributary::fpga
