#include <unistd.h>
#include <version.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "cli/doctor_board.h"
#include "fmt/format.h"
#include "fpga/model/kernel_interface.h"
#include "node/accelerator/xrt_board.h"

namespace tributary {
namespace {

using std::chrono_literals::operator""ms;

// XRT's driver notices the end of a run by a timer of 500 ms when its interrupt does not arrive.
constexpr auto kNoInterrupt = 400ms;
constexpr auto kSlowRun = 5ms;
constexpr auto kPatience = 5000ms;
constexpr int kEmptyRuns = 20;
constexpr std::size_t kPageBytes = 4096;

void CheckLibrary(DoctorReport& report) {
  const char* root = std::getenv("XILINX_XRT");
  const std::string folder = root == nullptr ? "/usr" : root;
  const std::filesystem::path library = std::filesystem::path(folder) / "lib" / "libxrt_core.so.2";
  std::error_code error;
  const std::string found = fmt::format("XRT {}, driver library {}", xrt_build_version, library.string());
  if (std::filesystem::exists(library, error)) {
    report.lines.push_back({"xrt", Finding::kOk, found, ""});
    return;
  }
  report.lines.push_back(
      {"xrt", Finding::kFault, found + " not found",
       "Install libxrt1 and set XILINX_XRT to the folder whose lib/ holds libxrt_core.so.2 "
       "(Debian arm64: a link to /usr/lib/aarch64-linux-gnu)"});
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Contiguous memory as the kernel counts it; a board without the line has none to tell.
void CheckCma(const DoctorOptions& options, DoctorReport& report) {
  std::ifstream file("/proc/meminfo");
  std::uint64_t kib = 0;
  for (std::string line; std::getline(file, line);) {
    if (std::sscanf(line.c_str(), "CmaFree: %lu kB", &kib) != 1) continue;
    const std::string found = fmt::format("{} KiB free, {} KiB needed", kib, options.memory_bytes / 1024);
    const bool enough = kib * 1024 >= options.memory_bytes;
    report.lines.push_back({"cma", enough ? Finding::kOk : Finding::kFault, found,
                            enough ? "" : "Boot with a larger cma= or use fewer panels"});
    return;
  }
  report.lines.push_back({"cma", Finding::kOk, "the kernel reports none; the allocation below decides", ""});
}

// Allocates what the configuration needs, at once, as the node will.
void CheckMemory(const DoctorOptions& options, XrtBoard& board, const xrt::kernel& kernel,
                 DoctorReport& report) {
  const absl::Status status =
      GuardXrt(fmt::format("allocating {} KiB on {}", options.memory_bytes / 1024, board.name()), [&] {
        const std::size_t bytes = (options.memory_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
        const xrt::bo buffer(board.device(), bytes, xrt::bo::flags::cacheable,
                             static_cast<xrt::memory_group>(kernel.group_id(kInputArgument)));
      });
  if (status.ok()) {
    report.lines.push_back(
        {"memory", Finding::kOk, fmt::format("{} KiB allocated", options.memory_bytes / 1024), ""});
  } else {
    report.lines.push_back({"memory", Finding::kFault, Message(status), "Boot with a larger cma="});
  }
}

// Median time of an empty run: no frames, no parameters.
void CheckRun(XrtBoard& board, const xrt::kernel& kernel, DoctorReport& report) {
  std::vector<std::chrono::nanoseconds> times;
  ert_cmd_state state = ERT_CMD_STATE_COMPLETED;
  bool reported = true;
  const absl::Status status = GuardXrt(fmt::format("running a kernel on {}", board.name()), [&] {
    xrt::bo output(board.device(), kPageBytes, xrt::bo::flags::cacheable,
                   static_cast<xrt::memory_group>(kernel.group_id(kOutputArgument)));
    xrt::run run(kernel);
    run.set_arg(kInputArgument, output);
    run.set_arg(kOutputArgument, output);
    run.set_arg(kParametersArgument, output);
    for (const int argument :
         {kFramesArgument, kParameterWordsArgument, kConfigurationArgument, kSeedArgument})
      run.set_arg(argument, 0u);
    auto* words = output.map<std::uint64_t*>();
    for (int i = 0; i < kEmptyRuns && state == ERT_CMD_STATE_COMPLETED && reported; ++i) {
      words[0] = 0;
      output.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      const auto begin = std::chrono::steady_clock::now();
      run.start();
      state = run.wait(kPatience);
      times.push_back(std::chrono::steady_clock::now() - begin);
      if (state != ERT_CMD_STATE_COMPLETED) {
        run.abort();
        return;
      }
      output.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
      const KernelReport kernel_report{words[0], words[1]};
      reported = kernel_report.valid() && !kernel_report.write_failed();
      if (times.back() > kNoInterrupt) return;
    }
  });
  if (!status.ok()) {
    report.lines.push_back({"run", Finding::kFault, Message(status), "Load the xclbin again, then reboot"});
    return;
  }
  if (state != ERT_CMD_STATE_COMPLETED) {
    report.lines.push_back({"run", Finding::kFault, fmt::format("{}: an empty run did not end", board.name()),
                            "Power the board off and on; if it stays so, the xclbin is not of this board"});
    return;
  }
  if (!reported) {
    report.lines.push_back({"run", Finding::kFault, fmt::format("{}: a run failed on the bus", board.name()),
                            "The memory bank in the xclbin is not this board's: build it for this platform"});
    return;
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  const auto median = times[times.size() / 2];
  const std::string found = fmt::format("an empty run takes {} us", median.count() / 1000);
  if (median > kNoInterrupt) {
    report.lines.push_back(
        {"interrupt", Finding::kFault, found,
         "Interrupts do not arrive: enable the AXI interrupt controller in the device tree"});
  } else if (median > kSlowRun) {
    report.lines.push_back({"interrupt", Finding::kWarning, found, "The board or its processor is busy"});
  } else {
    report.lines.push_back({"interrupt", Finding::kOk, found, ""});
  }
}

}  // namespace

void CheckBoard(const DoctorOptions& options, DoctorReport& report) {
  CheckLibrary(report);
  const std::string device = fmt::format("device {}", options.device);
  const absl::Status opened =
      GuardXrt(fmt::format("opening {}", device), [&] { xrt::device(options.device); });
  report.lines.push_back(
      opened.ok() ? DoctorLine{"device", Finding::kOk, device + " opens", ""}
                  : DoctorLine{"device", Finding::kFault, Message(opened),
                               absl::IsPermissionDenied(opened)
                                   ? "Install deploy/udev/70-tributary-fpga.rules, run `usermod -aG "
                                     "fpga USER`, log in again"
                                   : "Without a board: accelerator = \"cpu\". With one: is the zocl "
                                     "driver loaded (lsmod), does /dev/dri/renderD* exist?"});
  CheckCma(options, report);
  if (options.xclbin.empty()) {
    report.lines.push_back(
        {"xclbin", Finding::kWarning, "none given: kernels were not tried", "Give --xclbin FILE"});
    return;
  }
  const absl::StatusOr<XclbinSummary> xclbin = ReadXclbin(options.xclbin);
  if (!xclbin.ok()) {
    report.lines.push_back({"xclbin", Finding::kFault, Message(xclbin.status()), "Install the xclbin again"});
    return;
  }
  report.lines.push_back({"xclbin", Finding::kOk,
                          fmt::format("{}: UUID {}, built for {}, {} compute units", options.xclbin,
                                      xclbin->uuid, xclbin->platform, xclbin->units.size()),
                          ""});
  if (!opened.ok()) return;
  XrtOptions board_options;
  board_options.xclbin = options.xclbin;
  board_options.device = options.device;
  const absl::StatusOr<std::unique_ptr<XrtBoard>> board = XrtBoard::Open(board_options);
  if (!board.ok()) {
    report.lines.push_back({"load", Finding::kFault, Message(board.status()),
                            "Stop the node that uses the board, or use its xclbin"});
    return;
  }
  const std::string& unit = xclbin->units.front();
  const absl::StatusOr<std::vector<xrt::kernel>> kernels =
      (*board)->TakeUnits(unit.substr(0, unit.find(':')), 1);
  if (!kernels.ok()) {
    report.lines.push_back({"load", Finding::kFault, Message(kernels.status()),
                            "The board holds another xclbin or is in use: stop the node that uses it"});
    return;
  }
  report.lines.push_back({"load", Finding::kOk, fmt::format("{} taken", unit), ""});
  CheckMemory(options, **board, kernels->front(), report);
  CheckRun(**board, kernels->front(), report);
}

}  // namespace tributary
