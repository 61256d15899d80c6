// tributary-xclbin: writes an xclbin for the software device.
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "fmt/format.h"
#include "fpga/device/xclbin/xclbin_writer.h"

namespace {

// "name" or "name:instances".
tributary::device::XclbinContents::Kernel KernelOf(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, 1};
  return {text.substr(0, colon), std::atoi(text.c_str() + colon + 1)};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Writes an xclbin for the software device: metadata of kernels, without a bitstream",
               "tributary-xclbin"};
  std::string output;
  std::vector<std::string> kernels;
  tributary::device::XclbinContents contents;
  app.add_option("--output", output, "File to write")->required();
  app.add_option("--kernel", kernels, "Kernel, or kernel:instances (may be repeated)")->required();
  app.add_option("--platform", contents.platform, "Platform name");
  app.footer(
      "Example:\n  tributary-xclbin --kernel positioning_kernel:4 --kernel fusion_kernel --output "
      "board.xclbin");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;  // EX_USAGE
  }

  for (const std::string& kernel : kernels) contents.kernels.push_back(KernelOf(kernel));
  const absl::StatusOr<std::string> bytes = tributary::device::WriteXclbin(contents);
  if (!bytes.ok()) {
    std::cerr << fmt::format("tributary-xclbin: {}\n", std::string(bytes.status().message()));
    return 1;
  }
  std::ofstream file(output, std::ios::binary);
  file.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
  file.close();
  if (!file) {
    std::cerr << fmt::format("tributary-xclbin: cannot write {}\n", output);
    return 1;
  }
  return 0;
}
