// What XRT costs: start() and wait() of an empty kernel, and a batch of positioning in one run or in several
// that overlap. On the device that XILINX_XRT leads to; TRIBUTARY_XCLBIN names an xclbin with two positioning
// kernels.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "fpga/model/kernel_interface.h"
#include "fpga/model/random_network.h"
#include "node/accelerator/xrt_board.h"
#include "node/accelerator/xrt_positioning.h"

namespace tributary {
namespace {

constexpr std::size_t kBatch = 16;  // users of a slot (seed 000)

XrtOptions Options() {
  const char* xclbin = std::getenv("TRIBUTARY_XCLBIN");
  XrtOptions options;
  options.xclbin = xclbin == nullptr ? "positioning.xclbin" : xclbin;
  return options;
}

void BM_EmptyRun(benchmark::State& state) {
  const auto board = XrtBoard::Open(Options());
  if (!board.ok()) return state.SkipWithError(board.status().ToString().c_str());
  const auto kernels = (*board)->TakeUnits(XrtPositioning::kKernel, 1);
  if (!kernels.ok()) return state.SkipWithError(kernels.status().ToString().c_str());
  const xrt::kernel& kernel = kernels->front();
  xrt::bo output((*board)->device(), 4096, xrt::bo::flags::cacheable,
                 static_cast<xrt::memory_group>(kernel.group_id(kOutputArgument)));
  xrt::run run(kernel);
  for (const int argument : {kInputArgument, kOutputArgument, kParametersArgument})
    run.set_arg(argument, output);
  for (const int argument : {kFramesArgument, kParameterWordsArgument, kConfigurationArgument, kSeedArgument})
    run.set_arg(argument, 0u);
  for (auto _ : state) {
    run.start();
    if (run.wait(std::chrono::seconds(5)) != ERT_CMD_STATE_COMPLETED)
      return state.SkipWithError("the run failed");
  }
}
BENCHMARK(BM_EmptyRun)->UseRealTime();

// Compute units, frames per run: 16 frames in one run do not overlap with the host's part.
void BM_Batch(benchmark::State& state) {
  XrtOptions options = Options();
  options.compute_units = static_cast<std::size_t>(state.range(0));
  options.frames_per_run = static_cast<std::size_t>(state.range(1));
  const auto accelerator = XrtPositioning::Create(RandomPositioningNetwork(1), kBatch, options);
  if (!accelerator.ok()) return state.SkipWithError(accelerator.status().ToString().c_str());
  const std::vector<float> features = RandomFeatures(1, kBatch);
  std::vector<float> outputs(kBatch * PositioningModel::kOutputs);
  for (auto _ : state) {
    const absl::Status status = (*accelerator)->Infer(features, kBatch, outputs);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(BM_Batch)->Args({1, 16})->Args({1, 8})->Args({1, 4})->Args({2, 8})->Args({2, 4})->UseRealTime();

}  // namespace
}  // namespace tributary
