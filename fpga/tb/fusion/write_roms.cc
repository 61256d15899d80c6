// write_roms FOLDER: writes fusion_table.sv and fusion_program.sv.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "fpga/model/fusion_rom.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_roms FOLDER\n";
    return EXIT_FAILURE;
  }
  const std::filesystem::path folder = argv[1];
  std::ofstream table(folder / "fusion_table.sv");
  std::ofstream program(folder / "fusion_program.sv");
  table << tributary::fpga::FusionTableSource();
  program << tributary::fpga::FusionProgramSource();
  return table.flush() && program.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}
