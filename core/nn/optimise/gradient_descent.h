// Gradient descent over one flat vector of parameters, and the schedules of its learning rate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace tributary::nn {

// Adam (Kingma & Ba, 2015). Owns the moments. One thread at a time; a step allocates nothing.
class Adam {
 public:
  // The paper's constants.
  static constexpr float kBeta1 = 0.9f, kBeta2 = 0.999f, kEpsilon = 1e-8f;

  explicit Adam(std::size_t parameters) : first_moment_(parameters, 0.0f), second_moment_(parameters, 0.0f) {}

  // Both spans as long as the constructor's count.
  void Step(std::span<float> parameters, std::span<const float> gradient, double learning_rate);

 private:
  std::uint64_t steps_ = 0;
  std::vector<float> first_moment_;
  std::vector<float> second_moment_;
};

// Stochastic gradient descent with momentum and weight decay. Owns the momentum. One thread at a time; a step
// allocates nothing.
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

// The one-cycle learning rate (Smith & Topin, 2018) with cosine annealing: rises from peak / 25 over the
// first 30 % of the steps, then falls to peak / 250,000: the usual defaults of the schedule.
struct OneCycle {
  double peak;
  std::uint64_t steps;

  double Rate(std::uint64_t step) const {
    const double rise = 0.3 * static_cast<double>(steps);
    const double position = static_cast<double>(std::min(step, steps));
    const double initial = peak / 25.0;
    if (position < rise) return Anneal(initial, peak, position / rise);
    return Anneal(peak, initial / 1e4, (position - rise) / (static_cast<double>(steps) - rise));
  }

 private:
  static double Anneal(double from, double to, double fraction) {
    return to + 0.5 * (from - to) * (1.0 + std::cos(std::numbers::pi * fraction));
  }
};

}  // namespace tributary::nn
