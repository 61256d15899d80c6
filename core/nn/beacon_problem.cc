#include "core/nn/beacon_problem.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/beacon_problem.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which it does not include itself.
// clang-format off
#include "hwy/contrib/math/math-inl.h"
// clang-format on

#ifndef TRIBUTARY_CORE_NN_BEACON_BLOCK
#define TRIBUTARY_CORE_NN_BEACON_BLOCK
namespace tributary {

// Patterns that are run together.
inline constexpr std::size_t kBlock = 16;

struct BeaconBlock {
  double hidden[BeaconNetwork::kHidden][kBlock];
  double errors[BeaconNetwork::kOutputs][kBlock];
};

}  // namespace tributary
#endif

HWY_BEFORE_NAMESPACE();
namespace tributary::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// planes: the block's first pattern in the plane of input 0; the next planes follow at `stride`.
void RunBlock(const double* parameters, const double* planes, std::size_t stride, BeaconBlock& block) {
  constexpr std::size_t kInputs = BeaconNetwork::kInputs;
  constexpr std::size_t kHidden = BeaconNetwork::kHidden;
  const hn::CappedTag<double, kBlock> f64;
  for (std::size_t p = 0; p < kBlock; p += hn::Lanes(f64)) {
    for (std::size_t j = 0; j < kHidden; ++j) {
      const double* weights = parameters + j * (kInputs + 1);
      auto sum = hn::Set(f64, weights[kInputs]);
      for (std::size_t i = 0; i < kInputs; ++i) {
        sum = hn::MulAdd(hn::Set(f64, weights[i]), hn::LoadU(f64, planes + i * stride + p), sum);
      }
      hn::StoreU(hn::Tanh(f64, sum), f64, block.hidden[j] + p);
    }
    for (std::size_t o = 0; o < BeaconNetwork::kOutputs; ++o) {
      const double* weights = parameters + BeaconNetwork::kLayer1 + o * (kHidden + 1);
      auto sum = hn::Sub(hn::Set(f64, weights[kHidden]), hn::LoadU(f64, planes + (kInputs + o) * stride + p));
      for (std::size_t j = 0; j < kHidden; ++j) {
        sum = hn::MulAdd(hn::Set(f64, weights[j]), hn::LoadU(f64, block.hidden[j] + p), sum);
      }
      hn::StoreU(sum, f64, block.errors[o] + p);
    }
  }
}

}  // namespace tributary::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary {
namespace {

HWY_EXPORT(RunBlock);

constexpr std::size_t kInputs = BeaconNetwork::kInputs;
constexpr std::size_t kHidden = BeaconNetwork::kHidden;
constexpr std::size_t kOutputs = BeaconNetwork::kOutputs;

// Rows of ∂e/∂W of pattern p of a block, one per output, `stride` apart.
void FillRows(const double* parameters, const BeaconInputs& inputs, const BeaconBlock& block, std::size_t p,
              std::size_t stride, double* rows) {
  for (std::size_t o = 0; o < kOutputs; ++o) {
    double* row = rows + o * stride;
    const std::size_t output = BeaconNetwork::kLayer1 + o * (kHidden + 1);
    for (std::size_t j = 0; j < kHidden; ++j) {
      const double hidden = block.hidden[j][p];
      const double slope = parameters[output + j] * (1.0 - hidden * hidden);
      for (std::size_t i = 0; i < kInputs; ++i) row[j * (kInputs + 1) + i] = slope * inputs[i];
      row[j * (kInputs + 1) + kInputs] = slope;
      row[output + j] = hidden;
    }
    row[output + kHidden] = 1.0;
  }
}

}  // namespace

BeaconProblem::BeaconProblem(std::span<const BeaconInputs> inputs, std::span<const BeaconOutputs> targets)
    : patterns_(inputs.size()), padded_((inputs.size() + kBlock - 1) / kBlock * kBlock) {
  planes_.resize((kInputs + kOutputs) * padded_);
  for (std::size_t p = 0; p < padded_; ++p) {
    const std::size_t pattern = std::min(p, patterns_ - 1);
    for (std::size_t i = 0; i < kInputs; ++i) planes_[i * padded_ + p] = inputs[pattern][i];
    for (std::size_t o = 0; o < kOutputs; ++o) planes_[(kInputs + o) * padded_ + p] = targets[pattern][o];
  }
}

void BeaconProblem::Linearise(std::span<const double> parameters, NormalEquations& equations) const {
  // As many patterns' rows are written before they are read: wide loads of narrow stores that are still on
  // their way would stall. No more, so that they stay in the first-level cache with JᵀJ.
  constexpr std::size_t kPatterns = 8;
  constexpr std::size_t kRows = kPatterns * kOutputs;
  static_assert(kBlock % kPatterns == 0 && kRows % NormalEquations::kRows == 0);
  const std::size_t stride = equations.stride();
  const auto rows = hwy::AllocateAligned<double>(kRows * stride);
  double errors[kRows];
  BeaconBlock block;
  // Weights of one output leave the other's errors alone: those elements stay zero.
  std::fill_n(rows.get(), kRows * stride, 0.0);
  for (std::size_t first = 0; first < patterns_; first += kPatterns) {
    const std::size_t start = first % kBlock;
    if (start == 0) HWY_DYNAMIC_DISPATCH(RunBlock)(parameters.data(), planes_.data() + first, padded_, block);
    const std::size_t count = std::min(kPatterns, patterns_ - first);
    for (std::size_t p = 0; p < count; ++p) {
      BeaconInputs inputs;
      for (std::size_t i = 0; i < kInputs; ++i) inputs[i] = planes_[i * padded_ + first + p];
      FillRows(parameters.data(), inputs, block, start + p, stride, rows.get() + p * kOutputs * stride);
      for (std::size_t o = 0; o < kOutputs; ++o) errors[p * kOutputs + o] = block.errors[o][start + p];
    }
    std::fill(rows.get() + count * kOutputs * stride, rows.get() + kRows * stride, 0.0);
    std::fill(errors + count * kOutputs, errors + kRows, 0.0);
    for (std::size_t r = 0; r < kRows; r += NormalEquations::kRows) {
      equations.Add(rows.get() + r * stride, errors + r);
    }
  }
}

double BeaconProblem::SquaredError(std::span<const double> parameters) const {
  BeaconBlock block;
  double sum = 0.0;
  for (std::size_t first = 0; first < patterns_; first += kBlock) {
    HWY_DYNAMIC_DISPATCH(RunBlock)(parameters.data(), planes_.data() + first, padded_, block);
    const std::size_t count = std::min(kBlock, patterns_ - first);
    for (const auto& errors : block.errors) {
      for (std::size_t p = 0; p < count; ++p) sum += errors[p] * errors[p];
    }
  }
  return sum;
}

}  // namespace tributary
#endif
