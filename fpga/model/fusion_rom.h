// The memories of the fusion block: the table of its functions, and its microprogram, which is FusePanels
// scheduled onto one multiplier, one adder and one function unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary::fpga {

// A word per cycle: the operation that each unit takes in it. Bits from 0: multiply a 8, b 8, valid; add a 8,
// b 8, subtract, valid; apply a 8, function 2, valid; output a 8, valid; last step. Operands are {bank 2,
// index 6}: the result memory of the multiplier, the adder or the function unit (results are numbered in the
// order of issue), or the input memory (index panel·8 + element, elements in the stream's order x, y, l11,
// l21, l22). Outputs come in this order, too. Deterministic: list scheduling, longest way to the end first.
std::vector<std::uint64_t> MakeFusionProgram();

// The memories as SystemVerilog. They are sources, not files read at run time: a Verilated model in a library
// must not depend on the folder in which it starts.

// fpga/rtl/fusion/fusion_table.sv: the segments of FusionFunctionTable.
std::string FusionTableSource();

// fpga/rtl/fusion/fusion_program.sv: MakeFusionProgram.
std::string FusionProgramSource();

}  // namespace tributary::fpga
