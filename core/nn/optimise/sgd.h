// Stochastic gradient descent with momentum and weight decay, and the cosine schedule.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace tributary::nn {

// From `base` at step 0 to zero at `steps`, as half a cosine (Loshchilov & Hutter, 2017); constant if steps
// is 0.
struct CosineSchedule {
  double base;
  std::uint64_t steps;

  double Rate(std::uint64_t step) const {
    if (steps == 0) return base;
    const double done = static_cast<double>(std::min(step, steps)) / static_cast<double>(steps);
    return 0.5 * base * (1.0 + std::cos(std::numbers::pi * done));
  }
};

// Owns the momentum. One thread at a time; a step allocates nothing.
class Sgd {
 public:
  Sgd(std::size_t parameters, double momentum, double weight_decay)
      : momentum_(static_cast<float>(momentum)),
        weight_decay_(static_cast<float>(weight_decay)),
        velocity_(parameters, 0.0f) {}

  // v ← momentum · v + gradient + weight_decay · w, w ← w − rate · v over [offset, offset + gradient.size())
  // of the vector; `parameters` is that part.
  void Step(std::size_t offset, std::span<float> parameters, std::span<const float> gradient, double rate) {
    const float scale = static_cast<float>(rate);
    float* velocity = velocity_.data() + offset;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      velocity[i] = momentum_ * velocity[i] + gradient[i] + weight_decay_ * parameters[i];
      parameters[i] -= scale * velocity[i];
    }
  }

  void Reset() { std::ranges::fill(velocity_, 0.0f); }

 private:
  float momentum_;
  float weight_decay_;
  std::vector<float> velocity_;
};

}  // namespace tributary::nn
