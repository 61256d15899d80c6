#include <unistd.h>
#include <version.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/doctor/doctor.h"
#include "core/runtime/printable.h"
#include "fmt/format.h"
#include "fpga/model/kernel_interface.h"
#include "node/accelerator/xrt_board.h"
#include "node/checks/machine_checks.h"

namespace tributary::cli {
namespace {

using std::chrono_literals::operator""ms;

// XRT's driver notices the end of a run by a timer of 500 ms when its interrupt does not arrive.
constexpr auto kNoInterrupt = 400ms;
constexpr auto kSlowRun = 5ms;
constexpr auto kKernelPatience = 5000ms;
constexpr std::size_t kEmptyRuns = 20;
constexpr std::size_t kPageBytes = 4096;
constexpr const char* kPowerCycle =
    "Power the board off and on; if it stays so, the xclbin is not of this board";
constexpr const char* kOtherBank =
    "The memory bank in the xclbin is not this board's: build it for this platform";

void CheckLibrary(checks::CheckReport& report) {
  const char* root = std::getenv("XILINX_XRT");
  std::string found = fmt::format("XRT {}, XILINX_XRT is not set", xrt_build_version);
  if (root != nullptr && *root != '\0') {
    const std::filesystem::path library = std::filesystem::path(root) / "lib" / "libxrt_core.so.2";
    std::error_code error;
    const bool exists = std::filesystem::exists(library, error);
    found = fmt::format("XRT {}, driver library {}{}", xrt_build_version, library.string(),
                        exists ? "" : " not found");
    if (exists) return report.Ok("xrt", found);
  }
  report.Fault("xrt", found,
               "Install libxrt1 and set XILINX_XRT to the folder whose lib/ holds libxrt_core.so.2 "
               "(Debian arm64: a link to /usr/lib/aarch64-linux-gnu)");
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::size_t WholePages(std::size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Contiguous memory as the kernel counts it; a board without the line has none to tell.
void CheckCma(const DoctorOptions& options, checks::CheckReport& report) {
  const std::optional<std::uint64_t> free_bytes = checks::MeminfoBytes("CmaFree");
  if (!free_bytes) return report.Ok("cma", "the kernel reports none; the allocation below decides");
  const std::string found =
      fmt::format("{} KiB free, {} KiB needed", *free_bytes / 1024, options.memory_bytes / 1024);
  if (*free_bytes >= options.memory_bytes) return report.Ok("cma", found);
  report.Fault("cma", found, "Boot with a larger cma= or use fewer panels");
}

// Allocates what the configuration needs, at once, as the node will. False: there is no room.
bool CheckMemory(const DoctorOptions& options, accelerator::XrtBoard& board, const xrt::kernel& kernel,
                 checks::CheckReport& report) {
  const absl::Status status = accelerator::GuardXrt(
      fmt::format("allocating {} KiB on {}", options.memory_bytes / 1024, board.name()), [&] {
        const xrt::bo buffer(board.device(), WholePages(options.memory_bytes), xrt::bo::flags::cacheable,
                             static_cast<xrt::memory_group>(kernel.group_id(fpga::kInputArgument)));
      });
  if (status.ok()) {
    report.Ok("memory", fmt::format("{} KiB allocated", options.memory_bytes / 1024));
  } else {
    report.Fault("memory", Message(status), "Boot with a larger cma=");
  }
  return status.ok();
}

// One kernel with a buffer for all that it reads and writes.
class ProbeRun {
 public:
  ProbeRun(accelerator::XrtBoard& board, const xrt::kernel& kernel, std::size_t parameter_words)
      : buffer_(board.device(), std::max(WholePages(8 * parameter_words), kPageBytes),
                xrt::bo::flags::cacheable,
                static_cast<xrt::memory_group>(kernel.group_id(fpga::kOutputArgument))),
        words_(buffer_.map<std::uint64_t*>(), buffer_.size() / 8),
        run_(kernel) {
    for (const int argument : {fpga::kInputArgument, fpga::kOutputArgument, fpga::kParametersArgument})
      run_.set_arg(argument, buffer_);
    run_.set_arg(fpga::kSeedArgument, 0u);
  }

  // Whether the run ended in time, how long it took, and what the kernel reported.
  bool ended = false;
  std::chrono::nanoseconds time{};
  fpga::KernelReport report;

  void Start(std::uint32_t frames, const fpga::KernelProbe& probe) {
    const std::size_t output_words = frames * probe.output_words;
    run_.set_arg(fpga::kParameterWordsArgument, static_cast<std::uint32_t>(frames * probe.parameter_words));
    run_.set_arg(fpga::kFramesArgument, frames);
    run_.set_arg(fpga::kConfigurationArgument, probe.configuration);
    std::ranges::fill(words_, 0);
    buffer_.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    const auto begin = std::chrono::steady_clock::now();
    run_.start();
    ended = run_.wait(kKernelPatience) == ERT_CMD_STATE_COMPLETED;
    time = std::chrono::steady_clock::now() - begin;
    if (!ended) {
      run_.abort();
      return;
    }
    buffer_.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    report = {words_[output_words], words_[output_words + 1]};
  }

 private:
  xrt::bo buffer_;
  std::span<std::uint64_t> words_;
  xrt::run run_;
};

void JudgeTime(std::chrono::nanoseconds median, checks::CheckReport& report) {
  const std::string found = fmt::format("an empty run takes {} us", median.count() / 1000);
  if (median > kNoInterrupt) {
    report.Fault("interrupt", found,
                 "Interrupts do not arrive: enable the AXI interrupt controller in the device tree");
  } else if (median > kSlowRun) {
    report.Warning("interrupt", found, "The board or its processor is busy");
  } else {
    report.Ok("interrupt", found);
  }
}

// Empty runs, for their time, then a frame of zeros there and back.
void CheckRuns(accelerator::XrtBoard& board, const xrt::kernel& kernel, const std::string& name,
               checks::CheckReport& report) {
  const auto fault = [&](const char* check, const std::string& found, const char* remedy) {
    report.Fault(check, fmt::format("{}: {}", board.name(), found), remedy);
  };
  std::vector<std::chrono::nanoseconds> times;
  const auto known =
      std::ranges::find(fpga::kKernelProbes, std::string_view(name), &fpga::KernelProbe::kernel);
  const fpga::KernelProbe probe = known == fpga::kKernelProbes.end() ? fpga::KernelProbe{} : *known;
  const absl::Status status = accelerator::GuardXrt(fmt::format("running a kernel on {}", board.name()), [&] {
    ProbeRun run(board, kernel, probe.parameter_words);
    while (times.size() < kEmptyRuns && (times.empty() || times.back() < kNoInterrupt)) {
      run.Start(0, probe);
      if (!run.ended) return fault("run", "an empty run did not end", kPowerCycle);
      if (!run.report.valid() || run.report.write_failed()) {
        return fault("write", "what a run wrote did not arrive in memory", kOtherBank);
      }
      times.push_back(run.time);
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    JudgeTime(times[times.size() / 2], report);
    if (known == fpga::kKernelProbes.end()) return;
    run.Start(1, probe);
    if (!run.ended) return fault("transfer", "a run of one frame did not end", kPowerCycle);
    if (run.report.read_failed()) return fault("transfer", "the kernel could not read its input", kOtherBank);
    if (!run.report.valid() || run.report.write_failed() || run.report.frames_done() != 1) {
      return fault("transfer", "the kernel did not write its output", kOtherBank);
    }
    report.Ok("transfer", fmt::format("one frame in {} clock cycles", run.report.cycles));
  });
  if (!status.ok()) report.Fault("run", Message(status), "Load the xclbin again, then reboot");
}

}  // namespace

void CheckBoard(const DoctorOptions& options, checks::CheckReport& report) {
  CheckLibrary(report);
  const std::string device = fmt::format("device {}", options.device);
  const absl::Status opened =
      accelerator::GuardXrt(fmt::format("opening {}", device), [&] { xrt::device(options.device); });
  if (opened.ok()) {
    report.Ok("device", device + " opens");
  } else {
    report.Fault(
        "device", Message(opened),
        absl::IsPermissionDenied(opened)
            ? "Install deploy/udev/70-tributary-fpga.rules, run `usermod -aG fpga USER`, log in again"
            : "Without a board: accelerator = \"cpu\". With one: is the zocl driver loaded (lsmod), "
              "does /dev/dri/renderD* exist?");
  }
  CheckCma(options, report);
  if (options.xclbin.empty()) {
    return report.Warning("xclbin", "none given: kernels were not tried", "Give --xclbin FILE");
  }
  const absl::StatusOr<accelerator::XclbinSummary> xclbin = accelerator::ReadXclbin(options.xclbin);
  if (!xclbin.ok()) return report.Fault("xclbin", Message(xclbin.status()), "Install the xclbin again");
  report.Ok("xclbin", fmt::format("{}: UUID {}, built for {}, {}", options.xclbin, xclbin->uuid,
                                  xclbin->platform, runtime::Counted(xclbin->units.size(), "compute unit")));
  if (!opened.ok()) return;
  accelerator::XrtOptions board_options;
  board_options.xclbin = options.xclbin;
  board_options.device = options.device;
  const absl::StatusOr<std::unique_ptr<accelerator::XrtBoard>> board =
      accelerator::XrtBoard::Open(board_options);
  if (!board.ok()) {
    return report.Fault("load", Message(board.status()),
                        "Stop the node that uses the board, or use its xclbin");
  }
  const std::string& unit = xclbin->units.front();
  const std::string kernel = unit.substr(0, unit.find(':'));
  const absl::StatusOr<std::vector<xrt::kernel>> kernels = (*board)->TakeUnits(kernel, 1);
  if (!kernels.ok()) {
    return report.Fault("load", Message(kernels.status()),
                        "The board holds another xclbin or is in use: stop the node that uses it");
  }
  report.Ok("load", fmt::format("{} taken", unit));
  if (CheckMemory(options, **board, kernels->front(), report)) {
    CheckRuns(**board, kernels->front(), kernel, report);
  }
}

}  // namespace tributary::cli
