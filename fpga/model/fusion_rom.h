// The memories of the fusion block as SystemVerilog. Part of the sources, not files that are read at run
// time: a Verilated model in a library must not depend on the folder it is started in.
#pragma once

#include <string>

namespace tributary::fpga {

// fpga/rtl/fusion/fusion_table.sv: the segments of FusionFunctionTable.
std::string FusionTableSource();

// fpga/rtl/fusion/fusion_program.sv: MakeFusionProgram, encoded.
std::string FusionProgramSource();

}  // namespace tributary::fpga
