// The memories of the fusion block as SystemVerilog. They are sources, not files read at run time: a
// Verilated model in a library must not depend on the folder in which it starts.
#pragma once

#include <string>

namespace tributary::fpga {

// fpga/rtl/fusion/fusion_table.sv: the segments of FusionFunctionTable.
std::string FusionTableSource();

// fpga/rtl/fusion/fusion_program.sv: MakeFusionProgram, encoded.
std::string FusionProgramSource();

}  // namespace tributary::fpga
