#include "node/accelerator/xrt_fallback.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>

namespace tributary::accelerator {

std::string XrtFallback::description() const {
  if (board_ == nullptr) return fmt::format("{} for a board that did not open", cpu_->description());
  return fmt::format("{}, else {}", board_->description(), cpu_->description());
}

Accelerator::Counters XrtFallback::counters() const {
  Counters counters = board_ == nullptr ? Counters{} : board_->counters();
  counters.fallbacks = fallbacks_;
  return counters;
}

absl::Status XrtFallback::Infer(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  if (board_ == nullptr) {
    ++fallbacks_;
    return cpu_->Infer(features, batch, outputs);
  }
  const absl::Status status = board_->Infer(features, batch, outputs);
  if (status.ok()) {
    if (on_cpu_) spdlog::warn("{} computes again", board_->description());
    on_cpu_ = false;
    return status;
  }
  if (absl::IsInvalidArgument(status)) return status;
  if (!on_cpu_)
    spdlog::error("{}; fallback = \"cpu\": the processor computes instead", std::string(status.message()));
  on_cpu_ = true;
  ++fallbacks_;
  return cpu_->Infer(features, batch, outputs);
}

}  // namespace tributary::accelerator
