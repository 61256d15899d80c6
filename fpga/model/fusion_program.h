// The microprogram of the fusion block: FusePanels scheduled onto one multiplier, one adder and one function
// unit.
#pragma once

#include <array>
#include <cstdint>
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

// Cycles from the issue of an operation to the first cycle in which its result can be read.
struct FusionLatency {
  static constexpr int kMultiply = 5;
  static constexpr int kAdd = 5;
  static constexpr int kApply = 10;
};

// Deterministic: list scheduling, longest way to the end first. Outputs x, y, l11, l21, l22 in this order.
std::vector<FusionStep> MakeFusionProgram();

}  // namespace tributary::fpga
