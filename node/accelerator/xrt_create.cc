#include "node/accelerator/xrt_create.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "node/accelerator/cpu_fusion.h"
#include "node/accelerator/cpu_positioning.h"
#include "node/accelerator/xrt_fallback.h"
#include "node/accelerator/xrt_fusion.h"
#include "node/accelerator/xrt_positioning.h"

namespace tributary {
namespace {

using Created = absl::StatusOr<std::unique_ptr<Accelerator>>;

// The board's, with the processor's behind it if the options allow that.
Created WithFallback(Created board, const XrtOptions& options, absl::FunctionRef<Created()> create_cpu) {
  if (!options.fall_back_to_cpu || absl::IsInvalidArgument(board.status())) return board;
  Created cpu = create_cpu();
  if (!cpu.ok()) return cpu;
  if (!board.ok()) {
    spdlog::error("{}; fallback = \"cpu\": the processor computes instead until the next start",
                  std::string(board.status().message()));
    return std::make_unique<XrtFallback>(nullptr, *std::move(cpu));
  }
  return std::make_unique<XrtFallback>(*std::move(board), *std::move(cpu));
}

}  // namespace

Created CreateXrtPositioning(const PositioningNetwork& network, std::size_t max_batch,
                             const XrtOptions& options) {
  return WithFallback(XrtPositioning::Create(network, max_batch, options), options, [&]() -> Created {
    return CpuPositioning::Create(network, NumberFormat::kInt8Int16, max_batch);
  });
}

Created CreateXrtFusion(std::size_t panels, std::size_t max_batch, const XrtOptions& options) {
  return WithFallback(XrtFusion::Create(panels, max_batch, options), options,
                      [&]() -> Created { return CpuFusion::Create(panels, max_batch); });
}

}  // namespace tributary
