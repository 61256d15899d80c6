// The memories of the fusion block: the table of its functions, and its microprogram, which is FusePanels
// scheduled onto one multiplier, one adder and one function unit.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "fpga/model/fusion_algorithm.h"

namespace tributary::fpga {

// The source of an operand: the result memory of a unit (results are numbered in the order of issue), or the
// input memory (index panel·8 + element, elements in the stream's order x, y, l11, l21, l22).
struct FusionSource {
  enum Bank { kMultiplier, kAdder, kFunction, kInput };
  Bank bank = kMultiplier;
  int index = 0;
};

// The operations issued in one cycle; each unit takes one per cycle.
struct FusionStep {
  struct Operation {
    bool valid = false;
    FusionSource a = {}, b = {};                            // b: multiplier and adder only
    bool subtract = false;                                  // adder only
    FusionFunction function = FusionFunction::kReciprocal;  // function unit only
  };
  Operation multiply, add, apply, output;
};

// Deterministic: list scheduling, longest way to the end first. Outputs x, y, l11, l21, l22 in this order.
std::vector<FusionStep> MakeFusionProgram();

// The memories as SystemVerilog. They are sources, not files read at run time: a Verilated model in a library
// must not depend on the folder in which it starts.

// fpga/rtl/fusion/fusion_table.sv: the segments of FusionFunctionTable.
std::string FusionTableSource();

// fpga/rtl/fusion/fusion_program.sv: MakeFusionProgram, encoded.
std::string FusionProgramSource();

}  // namespace tributary::fpga
