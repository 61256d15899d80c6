#include "node/accelerator/fusion_accelerator.h"

#include <array>
#include <cmath>
#include <limits>

#include "fmt/format.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kValues = FusionAccelerator::kValues;

void Store(const fpga::FusionTuple& tuple, float* values) {
  const std::array<float, kValues> ordered = {tuple.x, tuple.y, tuple.l11, tuple.l21, tuple.l22};
  std::copy(ordered.begin(), ordered.end(), values);
}

}  // namespace

absl::Status FusionAccelerator::Check(std::size_t panels, std::size_t max_batch) {
  if (panels >= 2 && panels <= fpga::kFusionPanels && max_batch > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("fusion of {} panels, batch {}: 2 to {} panels and a batch of 1 or more are expected",
                  panels, max_batch, fpga::kFusionPanels));
}

Accelerator::Shape FusionAccelerator::shape() const {
  return {.inputs = panels_ * kValues, .outputs = kValues, .max_batch = max_batch_};
}

absl::Status FusionAccelerator::Infer(std::span<const float> tuples, std::size_t batch,
                                      std::span<float> fused) {
  const std::size_t width = panels_ * kValues;
  if (batch > max_batch_ || tuples.size() != batch * width || fused.size() != batch * kValues) {
    return absl::InvalidArgumentError(fmt::format(
        "fusion: batch {} of at most {} with {} values in and {} out; {} and {} each are expected", batch,
        max_batch_, tuples.size(), fused.size(), width, kValues));
  }
  std::fill(fused.begin(), fused.end(), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t panels = 1; panels <= panels_; ++panels) {
    rows_.clear();
    tuples_.clear();
    for (std::size_t row = 0; row < batch; ++row) {
      const std::size_t before = tuples_.size();
      for (std::size_t panel = 0; panel < panels_; ++panel) {
        const float* v = &tuples[row * width + panel * kValues];
        if (!std::isnan(v[2])) tuples_.push_back({v[0], v[1], v[2], v[3], v[4]});
      }
      if (tuples_.size() - before == panels) {
        rows_.push_back(row);
      } else {
        tuples_.resize(before);
      }
    }
    if (rows_.empty()) continue;
    fused_.resize(rows_.size());
    if (panels == 1) {
      fused_ = tuples_;
    } else if (absl::Status status = Fuse(tuples_, panels, fused_); !status.ok()) {
      return status;
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) Store(fused_[i], &fused[rows_[i] * kValues]);
  }
  return absl::OkStatus();
}

}  // namespace tributary::accelerator
