// A board with the processor as fallback.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/runtime/log.h"
#include "core/status/macros.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {

// Offers each batch to the board. If that fails, the processor computes it and gives the same numbers; those
// of a graph on the tensor unit differ a little (docs/graphs.md). Logs the begin and the end of such a time,
// and counts every batch. Base: Accelerator, or what extends it.
template <typename Base>
class XrtFallback : public Base {
 public:
  // Both have the same shape. `board` may be null: it could not be opened at the start.
  XrtFallback(std::unique_ptr<Base> board, std::unique_ptr<Base> cpu)
      : Base(cpu->shape()), board_(std::move(board)), cpu_(std::move(cpu)) {}

  std::string description() const override {
    if (board_ == nullptr) return fmt::format("{} for a board that did not open", cpu_->description());
    return fmt::format("{}, else {}", board_->description(), cpu_->description());
  }
  Accelerator::Counters counters() const override {
    Accelerator::Counters counters = cpu_->counters();
    if (board_ != nullptr) counters = counters + board_->counters();
    counters.fallbacks = fallbacks_;
    return counters;
  }

 protected:
  Base* board() { return board_.get(); }  // nullptr: not opened
  Base& cpu() { return *cpu_; }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    if (board_ != nullptr) {
      const absl::Status status = board_->Infer(features, batch, outputs);
      if (status.ok() && std::exchange(on_cpu_, false))
        runtime::LogWarning("{} computes again", board_->description());
      if (status.ok()) return status;
      if (!std::exchange(on_cpu_, true)) {
        runtime::LogError("{}; fallback = \"cpu\": the processor computes instead",
                          std::string(status.message()));
      }
    }
    ++fallbacks_;
    return cpu_->Infer(features, batch, outputs);
  }

  const std::unique_ptr<Base> board_;
  const std::unique_ptr<Base> cpu_;
  bool on_cpu_ = false;
  std::atomic<std::uint64_t> fallbacks_{0};
};

// The board's accelerator, with the processor as fallback if the options allow that. Fallback: made of both,
// as XrtFallback<Base>.
template <typename Fallback, typename Base>
absl::StatusOr<std::unique_ptr<Base>> WithFallback(
    absl::StatusOr<std::unique_ptr<Base>> board, const XrtOptions& options,
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<Base>>()> create_cpu) {
  if (!options.fall_back_to_cpu || absl::IsInvalidArgument(board.status())) return board;
  ASSIGN_OR_RETURN(std::unique_ptr<Base> cpu, create_cpu());
  if (!board.ok()) {
    runtime::LogError("{}; fallback = \"cpu\": the processor computes instead until the next start",
                      std::string(board.status().message()));
    return std::make_unique<Fallback>(nullptr, std::move(cpu));
  }
  return std::make_unique<Fallback>(*std::move(board), std::move(cpu));
}

}  // namespace tributary::accelerator
