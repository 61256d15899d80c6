// tributary-rom FOLDER: writes every ROM's .hex file. Run by the build.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "fpga/gen/rom.h"

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  const bool help = argument == "--help" || argument == "-h";
  if (argument.empty() || argument.front() == '-') {
    fmt::print(help ? stdout : stderr,
               "usage: tributary-rom FOLDER\n"
               "Writes the .hex file of every ROM of the RTL to FOLDER, which is made if it is absent.\n"
               "Example: tributary-rom build/rom\n");
    return help ? 0 : 64;  // EX_USAGE
  }
  const std::filesystem::path folder = argv[1];
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const tributary::fpga::Rom& rom : {tributary::fpga::RotationRom(), tributary::fpga::CropRom(),
                                          tributary::fpga::BlurRom(), tributary::fpga::TansigRom()}) {
    const std::filesystem::path path = folder / (rom.name + ".hex");
    std::ofstream file(path);
    file << tributary::fpga::ToHex(rom);
    if (!file.flush()) {
      fmt::print(stderr, "tributary-rom: cannot write {}\n", path.string());
      return 73;  // EX_CANTCREAT
    }
  }
  return 0;
}
