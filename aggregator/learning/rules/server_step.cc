#include "aggregator/learning/rules/server_step.h"

#include <cmath>

namespace tributary::learning {
namespace {

class PlainStep final : public Strategy {
 public:
  PlainStep(const StrategyOptions& options, std::size_t n) : Strategy(options, n) {}

 private:
  void Apply(std::size_t, std::span<const float> combined, std::span<float> model) override {
    const auto rate = static_cast<float>(options().learning_rate);
    for (std::size_t i = 0; i < model.size(); ++i) model[i] += rate * combined[i];
  }
};

class MomentumStep final : public Strategy {
 public:
  MomentumStep(const StrategyOptions& options, std::size_t n) : Strategy(options, n), momentum_(n) {}
  std::vector<StrategyState> state() override { return {{"momentum", momentum_}}; }

 private:
  void Apply(std::size_t first, std::span<const float> combined, std::span<float> model) override {
    const auto rate = static_cast<float>(options().learning_rate);
    const auto decay = static_cast<float>(options().momentum);
    const std::span<float> momentum = std::span(momentum_).subspan(first, model.size());
    for (std::size_t i = 0; i < model.size(); ++i) {
      momentum[i] = decay * momentum[i] + combined[i];
      model[i] += rate * momentum[i];
    }
  }

  std::vector<float> momentum_;
};

class AdaptiveStep final : public Strategy {
 public:
  AdaptiveStep(const StrategyOptions& options, std::size_t n)
      : Strategy(options, n),
        momentum_(n),
        second_moment_(n, static_cast<float>(options.tau * options.tau)) {}
  std::vector<StrategyState> state() override {
    return {{"momentum", momentum_}, {"second_moment", second_moment_}};
  }

 private:
  void Apply(std::size_t first, std::span<const float> combined, std::span<float> model) override {
    const bool yogi = options().kind == StrategyKind::kFedYogi;
    const auto rate = static_cast<float>(options().learning_rate);
    const auto beta1 = static_cast<float>(options().beta1);
    const auto beta2 = static_cast<float>(options().beta2);
    const auto tau = static_cast<float>(options().tau);
    for (std::size_t i = 0; i < model.size(); ++i) {
      const float square = combined[i] * combined[i];
      float& momentum = momentum_[first + i];
      float& second = second_moment_[first + i];
      momentum = beta1 * momentum + (1 - beta1) * combined[i];
      if (yogi) {
        // sign(0) = 0, which leaves the moment as it is.
        const float sign = static_cast<float>(second > square) - static_cast<float>(second < square);
        second -= (1 - beta2) * square * sign;
      } else {
        second = beta2 * second + (1 - beta2) * square;
      }
      model[i] += rate * momentum / (std::sqrt(second) + tau);
    }
  }

  std::vector<float> momentum_;
  std::vector<float> second_moment_;
};

}  // namespace

std::unique_ptr<Strategy> MakePlainStep(const StrategyOptions& options, std::size_t element_count) {
  return std::make_unique<PlainStep>(options, element_count);
}
std::unique_ptr<Strategy> MakeMomentumStep(const StrategyOptions& options, std::size_t element_count) {
  return std::make_unique<MomentumStep>(options, element_count);
}
std::unique_ptr<Strategy> MakeAdaptiveStep(const StrategyOptions& options, std::size_t element_count) {
  return std::make_unique<AdaptiveStep>(options, element_count);
}

}  // namespace tributary::learning
