#include <limits>

#include "core/nn/geometry/range_fix.h"
#include "fmt/format.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

class CpuGeometry final : public Accelerator {
 public:
  CpuGeometry(const nn::RangeGeometry& geometry, std::size_t max_batch)
      : Accelerator({.inputs = geometry.inputs(), .outputs = kGeometryOutputs, .max_batch = max_batch}),
        geometry_(geometry),
        ranges_m_(geometry.inputs()) {}

  std::string description() const override { return "cpu (range geometry)"; }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    for (std::size_t i = 0; i < batch; ++i) {
      std::ranges::copy(features.subspan(i * ranges_m_.size(), ranges_m_.size()), ranges_m_.begin());
      const std::span<float> result = outputs.subspan(i * kGeometryOutputs, kGeometryOutputs);
      std::ranges::fill(result, std::numeric_limits<float>::quiet_NaN());
      const auto fix = nn::FixOf(geometry_, ranges_m_);
      if (!fix) continue;
      const std::array<double, 3> factor = nn::CholeskyOf(geometry_, *fix);
      for (std::size_t k = 0; k < 2; ++k) result[k] = static_cast<float>(fix->position_m[k]);
      for (std::size_t k = 0; k < 3; ++k) result[2 + k] = static_cast<float>(factor[k]);
    }
    return absl::OkStatus();
  }

  const nn::RangeGeometry geometry_;
  std::vector<double> ranges_m_;
};

}  // namespace

Created CreateCpuGeometry(const nn::RangeGeometry& geometry, std::size_t max_batch) {
  return std::make_unique<CpuGeometry>(geometry, max_batch);
}

}  // namespace tributary::accelerator
