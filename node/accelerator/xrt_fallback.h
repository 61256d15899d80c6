// A board with the processor as fallback.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "node/accelerator/accelerator.h"

namespace tributary::accelerator {

// Offers each batch to the board. If that fails, the processor computes it and gives the same numbers. Logs
// the begin and the end of such a time, and counts every batch.
class XrtFallback final : public Accelerator {
 public:
  // Both have the same shape. `board` may be null: it could not be opened at the start.
  XrtFallback(std::unique_ptr<Accelerator> board, std::unique_ptr<Accelerator> cpu)
      : board_(std::move(board)), cpu_(std::move(cpu)) {}

  Shape shape() const override { return cpu_->shape(); }
  std::string description() const override;
  Counters counters() const override;
  absl::Status Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) override;

 private:
  const std::unique_ptr<Accelerator> board_;
  const std::unique_ptr<Accelerator> cpu_;
  bool on_cpu_ = false;
  std::atomic<std::uint64_t> fallbacks_{0};
};

}  // namespace tributary::accelerator
