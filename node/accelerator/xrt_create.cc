#include "node/accelerator/xrt_create.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "node/accelerator/cpu_fusion.h"
#include "node/accelerator/cpu_positioning.h"
#include "node/accelerator/xrt_board.h"
#include "node/accelerator/xrt_fallback.h"
#include "node/accelerator/xrt_fusion.h"
#include "node/accelerator/xrt_positioning.h"
#include "node/accelerator/xrt_xclbin.h"

namespace tributary::accelerator {
namespace {

using Created = absl::StatusOr<std::unique_ptr<Accelerator>>;

// The board's accelerator, with the processor as fallback if the options allow that.
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

absl::Status CheckXclbin(std::string_view kernel, const XrtOptions& options) {
  const absl::StatusOr<XclbinSummary> xclbin = ReadXclbin(options.xclbin);
  if (!xclbin.ok()) {
    return absl::Status(xclbin.status().code(),
                        fmt::format("xclbin: {}", std::string(xclbin.status().message())));
  }
  if (absl::Status status = CheckXclbinUuid(*xclbin, options); !status.ok()) {
    return absl::Status(status.code(), fmt::format("xclbin_uuid: {}", std::string(status.message())));
  }
  const auto is_unit = [kernel](const std::string& unit) {
    return unit.starts_with(fmt::format("{}:", kernel));
  };
  if (std::ranges::any_of(xclbin->units, is_unit)) return absl::OkStatus();
  return absl::NotFoundError(
      fmt::format("xclbin: {} has no compute unit of {}. Build the xclbin with it", options.xclbin, kernel));
}

absl::Status CheckXrt(std::string_view kernel, const XrtOptions& options) {
  const absl::Status status = CheckXclbin(kernel, options);
  return options.fall_back_to_cpu && !absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::Status CheckXrtPositioning(const XrtOptions& options) {
  return CheckXrt(XrtPositioning::kKernel, options);
}

absl::Status CheckXrtFusion(const XrtOptions& options) { return CheckXrt(XrtFusion::kKernel, options); }

Created CreateXrtPositioning(const nn::PositioningNetwork& network, std::size_t max_batch,
                             const XrtOptions& options) {
  return WithFallback(XrtPositioning::Create(network, max_batch, options), options, [&]() -> Created {
    return CpuPositioning::Create(network, fpga::NumberFormat::kInt8Int16, max_batch);
  });
}

Created CreateXrtFusion(std::size_t panels, std::size_t max_batch, const XrtOptions& options) {
  return WithFallback(XrtFusion::Create(panels, max_batch, options), options,
                      [&]() -> Created { return CpuFusion::Create(panels, max_batch); });
}

}  // namespace tributary::accelerator
