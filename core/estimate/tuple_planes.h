// Two-dimensional Gaussian tuples in the layout of the batched arithmetic: one array per element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tributary::estimate {

// n tuples. The arrays are padded to a multiple of kPadding with valid, vague tuples, so that a vector may
// read past n. Memory grows and is kept.
class TuplePlanes {
 public:
  // Floats in the widest vector (AVX-512), and its alignment.
  static constexpr std::size_t kPadding = 16;
  // Elements of the factor of an absent tuple: its information is less than the last bit of any real one's.
  static constexpr float kVague = 1e30f;

  // Makes room for n tuples; the contents except the padding are unspecified.
  void Resize(std::size_t n);
  // n vague tuples with mean 0.
  void ResizeVague(std::size_t n);

  // From the wire's order: means [n × 2], cholesky [n × 3] as l11, l21, l22. True if every value is finite
  // and every diagonal element positive.
  bool Load(std::span<const float> means, std::span<const float> cholesky);
  // The reverse; false if a value is not finite or a diagonal element not positive.
  bool Store(std::span<float> means, std::span<float> cholesky) const;

  std::size_t size() const { return size_; }
  std::size_t padded_size() const { return stride_; }

  float* mean_x() { return memory_.get(); }
  float* mean_y() { return memory_.get() + stride_; }
  float* l11() { return memory_.get() + 2 * stride_; }
  float* l21() { return memory_.get() + 3 * stride_; }
  float* l22() { return memory_.get() + 4 * stride_; }
  const float* mean_x() const { return memory_.get(); }
  const float* mean_y() const { return memory_.get() + stride_; }
  const float* l11() const { return memory_.get() + 2 * stride_; }
  const float* l21() const { return memory_.get() + 3 * stride_; }
  const float* l22() const { return memory_.get() + 4 * stride_; }

 private:
  // Vague tuples with mean 0.
  void FillVague(std::size_t first, std::size_t end);

  struct AlignedDelete {
    void operator()(float* memory) const;
  };

  std::unique_ptr<float[], AlignedDelete> memory_;
  std::size_t capacity_ = 0;  // tuples
  std::size_t stride_ = 0;
  std::size_t size_ = 0;
};

// True if every value is finite and every diagonal element of the n lower factors is positive; the wire's
// order, any dimension from 1 to 3.
bool ValidTuples(std::size_t dimension, std::span<const float> means, std::span<const float> cholesky);

// Adds `variance` along both axes to the n covariances of these lower factors [n × 3: l11, l21, l22].
void WidenFactors(float variance, std::span<float> cholesky);

}  // namespace tributary::estimate
