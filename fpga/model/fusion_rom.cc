#include "fpga/model/fusion_rom.h"

#include <fmt/format.h>

#include <span>

#include "fpga/model/fusion_program.h"

namespace tributary::fpga {
namespace {

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
