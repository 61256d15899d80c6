#include "node/accelerator/fusion_accelerator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/status/macros.h"
#include "fmt/format.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

class CpuFusion final : public FusionAccelerator {
 public:
  using FusionAccelerator::FusionAccelerator;

  std::string description() const override { return "cpu (fusion)"; }

 private:
  absl::Status Fuse(std::span<const fpga::FusionTuple> tuples, std::size_t panels,
                    std::span<fpga::FusionTuple> fused) override {
    for (std::size_t row = 0; row < fused.size(); ++row) {
      fused[row] = fpga::Fuse(tuples.subspan(row * panels, panels), /*raw=*/false);
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status FusionAccelerator::Check(std::size_t panels, std::size_t max_batch) {
  if (panels >= 2 && panels <= fpga::kFusionPanels && max_batch > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("fusion of {} panels, batch {}: 2 to {} panels and a batch of 1 or more are expected",
                  panels, max_batch, fpga::kFusionPanels));
}

absl::Status FusionAccelerator::Run(std::span<const float> tuples, std::size_t batch,
                                    std::span<float> fused) {
  std::ranges::fill(fused, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t panels = 1; panels <= panels_; ++panels) {
    rows_.clear();
    tuples_.clear();
    for (std::size_t row = 0; row < batch; ++row) {
      const std::size_t before = tuples_.size();
      for (std::size_t panel = 0; panel < panels_; ++panel) {
        const float* v = &tuples[row * shape().inputs + panel * kValues];
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
    } else {
      RETURN_IF_ERROR(Fuse(tuples_, panels, fused_));
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto& [x, y, l11, l21, l22] = fused_[i];
      std::ranges::copy(std::array{x, y, l11, l21, l22}, &fused[rows_[i] * kValues]);
    }
  }
  return absl::OkStatus();
}

Created CreateCpuFusion(std::size_t panels, std::size_t max_batch) {
  RETURN_IF_ERROR(FusionAccelerator::Check(panels, max_batch));
  return std::make_unique<CpuFusion>(panels, max_batch);
}

}  // namespace tributary::accelerator
