// tributary-xclbin: writes an xclbin for the software device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "core/runtime/command_line.h"
#include "core/runtime/printable.h"
#include "core/runtime/process.h"
#include "core/runtime/version.h"
#include "core/status/macros.h"
#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/kernel_interface.h"

namespace tributary {
namespace {

std::vector<std::string_view> KnownKernels() {
  std::vector<std::string_view> names;
  for (const fpga::KernelProbe& probe : fpga::kKernelProbes) names.push_back(probe.kernel);
  names.push_back(fpga::kUserManagedKernel);
  return names;
}

// "name" or "name:instances".
absl::StatusOr<device::XclbinContents::Kernel> KernelOf(const std::string& text) {
  const std::size_t colon = text.find(':');
  device::XclbinContents::Kernel kernel{text.substr(0, colon), 1};
  const std::vector<std::string_view> known = KnownKernels();
  if (std::ranges::count(known, kernel.name) == 0) {
    return absl::InvalidArgumentError(
        fmt::format("--kernel: expected one of {}, found \"{}\"", fmt::join(known, ", "), kernel.name));
  }
  if (colon != std::string::npos &&
      (!absl::SimpleAtoi(text.substr(colon + 1), &kernel.instances) || kernel.instances < 1)) {
    return absl::InvalidArgumentError(
        fmt::format("--kernel: expected NAME:INSTANCES with at least one instance, found \"{}\"", text));
  }
  return kernel;
}

absl::StatusOr<std::string> BytesOf(const std::vector<std::string>& kernels,
                                    device::XclbinContents contents) {
  for (const std::string& text : kernels) {
    ASSIGN_OR_RETURN(auto kernel, KernelOf(text));
    contents.kernels.push_back(std::move(kernel));
  }
  return device::WriteXclbin(contents);
}

int Fail(std::string_view what, int exit_code) {
  std::cerr << fmt::format("tributary-xclbin: {}\n", runtime::Printable(what));
  return exit_code;
}

int Main(int argc, char** argv) {
  CLI::App app{"Writes an xclbin for the software device: metadata of kernels, without a bitstream",
               "tributary-xclbin"};
  std::string output;
  std::vector<std::string> kernels;
  device::XclbinContents contents;
  app.add_option("--output", output, "File to write")->required();
  app.add_option("--kernel", kernels, "Kernel, or kernel:instances (may be repeated)")->required();
  app.add_option("--platform", contents.platform, "Platform name");
  app.footer(
      "Example:\n  tributary-xclbin --kernel positioning_kernel:4 --kernel fusion_kernel --output "
      "board.xclbin");
  const std::string version = runtime::VersionText("tributary-xclbin");
  if (const std::optional<int> code = runtime::ParseCommandLine(app, version, argc, argv)) return *code;

  const absl::StatusOr<std::string> bytes = BytesOf(kernels, contents);
  if (!bytes.ok()) return Fail(std::string(bytes.status().message()), runtime::kExitUsage);
  std::ofstream file(output, std::ios::binary);
  file.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
  file.close();
  if (!file) return Fail("cannot write " + output, runtime::kExitCantCreate);
  return runtime::kExitOk;
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) { return tributary::Main(argc, argv); }
