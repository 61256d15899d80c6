// SimCLR's loss [Chen20]: each view must find the other view of its image among all views of the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/nn/kernel/gemm.h"

namespace tributary::nn {

// The normalised temperature-scaled cross entropy over 2 · batch views. It is multiplied by 2 · temperature,
// so that the same learning rate serves every temperature ([Moco21]). Owns its buffers: of one float for
// each pair of views. One thread at a time; nothing is allocated after the constructor.
class ContrastiveLoss {
 public:
  // `width`: of a projection; `batch`: images, at least two.
  ContrastiveLoss(std::size_t width, std::size_t batch);

  // Bytes that an instance holds.
  static std::uint64_t Bytes(std::uint64_t width, std::uint64_t batch);

  // The projections of both views, feature-major [width × batch]; overwrites the gradients, of the same size.
  // temperature > 0. A projection of zeros has the cosine 0 to all others and no gradient.
  double Compute(std::span<const float> z1, std::span<const float> z2, double temperature,
                 std::span<float> z1_gradient, std::span<float> z2_gradient);

 private:
  void Normalise(std::span<const float> z, std::size_t first);
  double SoftmaxRow(std::size_t view, double temperature);
  void Project(std::size_t first, std::span<float> z_gradient) const;

  std::size_t width_, batch_;
  Gemm gemm_;
  std::vector<float> units_;          // [2 · batch × width], of unit length
  std::vector<float> unit_gradient_;  // the same shape
  std::vector<double> norms_;         // [2 · batch], of the projections
  std::vector<float> pairs_;          // [2 · batch × 2 · batch]: cosines, then their gradient
};

}  // namespace tributary::nn
