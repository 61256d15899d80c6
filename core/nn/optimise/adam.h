// Adam (Kingma & Ba, 2015) over one flat vector of parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::nn {

// Owns the moments. One thread at a time; a step allocates nothing.
class Adam {
 public:
  struct Options {
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float epsilon = 1e-8f;
  };

  explicit Adam(std::size_t parameters) : Adam(parameters, Options{}) {}
  Adam(std::size_t parameters, Options options);

  // Both spans as long as the constructor's count.
  void Step(std::span<float> parameters, std::span<const float> gradient, double learning_rate);

 private:
  Options options_;
  std::uint64_t steps_ = 0;
  std::vector<float> first_moment_;
  std::vector<float> second_moment_;
};

}  // namespace tributary::nn
