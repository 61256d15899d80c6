#include "core/nn/optimise/gradient_descent.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/optimise/gradient_descent.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void StepLanes(D d, float rate, float second_correction, const float* gradient, float* first,
                          float* second, float* parameters) {
  const auto g = hn::LoadU(d, gradient);
  const auto m = hn::MulAdd(hn::Set(d, Adam::kBeta1), hn::Sub(hn::LoadU(d, first), g), g);
  const auto g2 = hn::Mul(g, g);
  const auto v = hn::MulAdd(hn::Set(d, Adam::kBeta2), hn::Sub(hn::LoadU(d, second), g2), g2);
  const auto root = hn::Sqrt(hn::Mul(v, hn::Set(d, second_correction)));
  const auto change = hn::Div(hn::Mul(m, hn::Set(d, rate)), hn::Add(root, hn::Set(d, Adam::kEpsilon)));
  hn::StoreU(m, d, first);
  hn::StoreU(v, d, second);
  hn::StoreU(hn::Sub(hn::LoadU(d, parameters), change), d, parameters);
}

// rate: learning rate / (1 - beta1^t); second_correction: 1 / (1 - beta2^t).
void AdamStep(float rate, float second_correction, std::size_t count, const float* gradient, float* first,
              float* second, float* parameters) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    StepLanes(d, rate, second_correction, gradient + i, first + i, second + i, parameters + i);
  }
  for (; i < count; ++i)
    StepLanes(one, rate, second_correction, gradient + i, first + i, second + i, parameters + i);
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {

HWY_EXPORT(AdamStep);

void Adam::Step(std::span<float> parameters, std::span<const float> gradient, double learning_rate) {
  ++steps_;
  const double t = static_cast<double>(steps_);
  const double first_correction = 1.0 - std::pow(kBeta1, t);
  const double second_correction = 1.0 - std::pow(kBeta2, t);
  HWY_DYNAMIC_DISPATCH(AdamStep)
  (static_cast<float>(learning_rate / first_correction), static_cast<float>(1.0 / second_correction),
   parameters.size(), gradient.data(), first_moment_.data(), second_moment_.data(), parameters.data());
}

}  // namespace tributary::nn
#endif
