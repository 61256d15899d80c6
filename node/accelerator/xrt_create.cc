#include "node/accelerator/xrt_create.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "node/accelerator/cpu_positioning.h"
#include "node/accelerator/xrt_fallback.h"
#include "node/accelerator/xrt_positioning.h"

namespace tributary {

absl::StatusOr<std::unique_ptr<Accelerator>> CreateXrtPositioning(const PositioningNetwork& network,
                                                                  std::size_t max_batch,
                                                                  const XrtOptions& options) {
  absl::StatusOr<std::unique_ptr<XrtPositioning>> board = XrtPositioning::Create(network, max_batch, options);
  if (!options.fall_back_to_cpu || absl::IsInvalidArgument(board.status())) return board;
  absl::StatusOr<std::unique_ptr<CpuPositioning>> cpu =
      CpuPositioning::Create(network, NumberFormat::kInt8Int16, max_batch);
  if (!cpu.ok()) return cpu.status();
  if (!board.ok()) {
    spdlog::error("{}; fallback = \"cpu\": the processor computes instead until the next start",
                  std::string(board.status().message()));
    return std::make_unique<XrtFallback>(nullptr, *std::move(cpu));
  }
  return std::make_unique<XrtFallback>(*std::move(board), *std::move(cpu));
}

}  // namespace tributary
