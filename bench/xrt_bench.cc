// The cost of XRT: start() and wait() of an empty kernel, a batch of positioning on the simulated kernel, and
// the gain of overlap for a kernel with a set time. Uses the software device, or the library of XILINX_XRT;
// TRIBUTARY_XCLBIN then names an xclbin with two positioning and two loopback kernels.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/kernel_interface.h"
#include "fpga/model/positioning_model.h"
#include "fpga/model/random_network_fixture.h"
#include "node/accelerator/create.h"
#include "node/accelerator/xrt_board.h"
#include "node/accelerator/xrt_frames.h"

namespace tributary {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kBatch = 16;  // users of a slot ([LIS])

std::string SoftwareXclbin() {
  ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
  const std::string path = "xrt_bench.xclbin";
  std::ofstream(path, std::ios::binary)
      << device::WriteXclbin({.kernels = {{"positioning_kernel", 2}, {"loopback_kernel", 2}}}).value();
  return path;
}

accelerator::XrtOptions Options() {
  static const std::string xclbin = std::getenv("XILINX_XRT") == nullptr ? SoftwareXclbin()
                                    : std::getenv("TRIBUTARY_XCLBIN") == nullptr
                                        ? "positioning.xclbin"
                                        : std::getenv("TRIBUTARY_XCLBIN");
  accelerator::XrtOptions options;
  options.xclbin = xclbin;
  return options;
}

void BM_EmptyRun(benchmark::State& state) {
  const auto board = accelerator::XrtBoard::Open(Options());
  if (!board.ok()) return state.SkipWithError(board.status().ToString().c_str());
  const auto kernels = (*board)->TakeUnits(accelerator::kXrtPositioningKernel, 1);
  if (!kernels.ok()) return state.SkipWithError(kernels.status().ToString().c_str());
  const xrt::kernel& kernel = kernels->front();
  xrt::bo output((*board)->device(), 4096, xrt::bo::flags::cacheable,
                 static_cast<xrt::memory_group>(kernel.group_id(fpga::kOutputArgument)));
  xrt::run run(kernel);
  for (const int argument : {fpga::kInputArgument, fpga::kOutputArgument, fpga::kParametersArgument})
    run.set_arg(argument, output);
  for (const int argument : {fpga::kFramesArgument, fpga::kParameterWordsArgument,
                             fpga::kConfigurationArgument, fpga::kSeedArgument})
    run.set_arg(argument, 0u);
  for (auto _ : state) {
    run.start();
    if (run.wait(std::chrono::seconds(5)) != ERT_CMD_STATE_COMPLETED)
      return state.SkipWithError("the run failed");
  }
}
BENCHMARK(BM_EmptyRun)->UseRealTime();

// Compute units, frames per run. The simulated kernel takes a millisecond per subject, which hides the host's
// part, with overlap or without.
void BM_SimulatedBatch(benchmark::State& state) {
  accelerator::XrtOptions options = Options();
  options.compute_units = static_cast<std::size_t>(state.range(0));
  options.frames_per_run = static_cast<std::size_t>(state.range(1));
  const auto accelerator =
      accelerator::CreateXrtPositioning(fpga::RandomPositioningNetwork(1), kBatch, options);
  if (!accelerator.ok()) return state.SkipWithError(accelerator.status().ToString().c_str());
  const std::vector<float> features = fpga::RandomFeatures(1, kBatch);
  std::vector<float> outputs(kBatch * fpga::FixedPositioning::kOutputs);
  for (auto _ : state) {
    const absl::Status status = (*accelerator)->Infer(features, kBatch, outputs);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(BM_SimulatedBatch)->Args({1, 16})->Args({1, 4})->Args({2, 4})->UseRealTime();

void Work(microseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) benchmark::ClobberMemory();
}

// Compute units, frames per run, kernel's µs per frame, host's µs per frame (half before the run, half after
// it). The kernel is the loopback. The device delays the end of a run by the set time without using the
// processor, as a board would. 16 frames in one run do not overlap with the host's part; in several they do.
void BM_TimedBatch(benchmark::State& state) {
  constexpr std::size_t kWords = 16;
  accelerator::XrtOptions options = Options();
  options.compute_units = static_cast<std::size_t>(state.range(0));
  options.frames_per_run = static_cast<std::size_t>(state.range(1));
  ::setenv("TRIBUTARY_DEVICE_FAULTS", fmt::format("frame_us={}", state.range(2)).c_str(), 1);
  const auto frames = accelerator::XrtFrames::Create({"loopback_kernel", kWords, kWords, {}}, options);
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  if (!frames.ok()) return state.SkipWithError(frames.status().ToString().c_str());
  const microseconds half(state.range(3) / 2);
  const auto fill = [&](std::size_t, std::size_t count, std::span<std::uint64_t>) { Work(half * count); };
  const auto take = [&](std::size_t, std::size_t count, std::span<const std::uint64_t>) {
    Work(half * count);
  };
  for (auto _ : state) {
    const absl::Status status = (*frames)->Run(kBatch, kWords, kWords, fill, take);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.counters["kernel_us"] = static_cast<double>(state.range(2)) * kBatch;
  state.counters["host_us"] = static_cast<double>(state.range(3)) * kBatch;
}
BENCHMARK(BM_TimedBatch)
    ->Args({1, 16, 500, 200})
    ->Args({1, 4, 500, 200})
    ->Args({1, 2, 500, 200})
    ->Args({2, 4, 500, 200})
    ->Args({1, 16, 500, 500})
    ->Args({1, 4, 500, 500})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

}  // namespace
}  // namespace tributary
