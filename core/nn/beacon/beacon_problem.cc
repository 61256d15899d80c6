#include "core/nn/beacon/beacon_problem.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/beacon/beacon_problem.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h, which it does not include itself.
// clang-format off
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// planes: the block's first pattern in the plane of input 0; the next planes follow at `stride`.
void RunBlock(const double* parameters, const double* planes, std::size_t stride,
              BeaconProblem::Block& block) {
  constexpr std::size_t kInputs = BeaconNetwork::kInputs;
  constexpr std::size_t kHidden = BeaconNetwork::kHidden;
  constexpr std::size_t kBlock = BeaconProblem::kBlock;
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

using F64 = hn::CappedTag<double, 8>;

constexpr std::size_t kLines = 4;

// kLines lines from line i of the sums, kVectors vectors from column k: all sums of the tile stay in
// registers during the pass over the rows.
template <std::size_t kVectors>
HWY_INLINE void AddTile(const double* HWY_RESTRICT rows, std::size_t stride, std::size_t i, std::size_t k,
                        double* HWY_RESTRICT sums) {
  const F64 f64;
  const std::size_t lanes = hn::Lanes(f64);
  hn::Vec<F64> tile[kLines][kVectors];
  for (std::size_t l = 0; l < kLines; ++l) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      tile[l][v] = hn::Load(f64, sums + (i + l) * stride + k + v * lanes);
    }
  }
  for (std::size_t r = 0; r < GramMatrix::kRows; ++r) {
    const double* row = rows + r * stride;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto columns = hn::Load(f64, row + k + v * lanes);
      for (std::size_t l = 0; l < kLines; ++l) {
        tile[l][v] = hn::MulAdd(hn::Set(f64, row[i + l]), columns, tile[l][v]);
      }
    }
  }
  for (std::size_t l = 0; l < kLines; ++l) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::Store(tile[l][v], f64, sums + (i + l) * stride + k + v * lanes);
    }
  }
}

void AddRows(const double* HWY_RESTRICT rows, std::size_t stride, double* HWY_RESTRICT sums) {
  const std::size_t lanes = hn::Lanes(F64());
  for (std::size_t i = 0; i < stride; i += kLines) {
    std::size_t k = i / lanes * lanes;
    for (; k + 2 * lanes <= stride; k += 2 * lanes) AddTile<2>(rows, stride, i, k, sums);
    if (k < stride) AddTile<1>(rows, stride, i, k, sums);
  }
}

}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {
namespace {

HWY_EXPORT(RunBlock);
HWY_EXPORT(AddRows);

constexpr std::size_t kInputs = BeaconNetwork::kInputs;
constexpr std::size_t kHidden = BeaconNetwork::kHidden;
constexpr std::size_t kOutputs = BeaconNetwork::kOutputs;

// The parts of the rows of J, column by column. With s = 1 - hidden², x̃ = [inputs, 1], h̃ = [hidden, 1] and
// output weights v, the row of output o is [v(o, j)·s(j)·x̃(i) …, h̃ in its own place, 0 in the other
// output's]. Both outputs share the products of these columns; their errors are two more columns.
constexpr std::size_t kSlopes = 0;                      // s(j)·x̃(i) [10 × 4]
constexpr std::size_t kUnits = BeaconNetwork::kLayer1;  // h̃(j) [11]
constexpr std::size_t kErrors = kUnits + kHidden + 1;   // e(o) [2]
constexpr std::size_t kColumns = kErrors + kOutputs;

void FillRow(const BeaconInputs& inputs, const BeaconProblem::Block& block, std::size_t p, double* row) {
  for (std::size_t j = 0; j < kHidden; ++j) {
    const double hidden = block.hidden[j][p];
    const double slope = 1.0 - hidden * hidden;
    double* place = row + kSlopes + j * (kInputs + 1);
    for (std::size_t i = 0; i < kInputs; ++i) place[i] = slope * inputs[i];
    place[kInputs] = slope;
    row[kUnits + j] = hidden;
  }
  row[kUnits + kHidden] = 1.0;
  for (std::size_t o = 0; o < kOutputs; ++o) row[kErrors + o] = block.errors[o][p];
}

// Puts the products in their places in JᵀJ, Jᵀe and eᵀe.
void Expand(const GramMatrix& gram, const double* parameters, NormalEquations& equations) {
  constexpr std::size_t kLayer1 = BeaconNetwork::kLayer1;
  const auto weight = [&](std::size_t o, std::size_t j) {
    return parameters[kLayer1 + o * (kHidden + 1) + j];
  };
  const auto index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  equations.matrix.setZero();
  equations.gradient.setZero();
  equations.squared_error = 0.0;
  for (std::size_t a = 0; a < kLayer1; ++a) {
    const std::size_t neuron = a / (kInputs + 1);
    for (std::size_t b = a; b < kLayer1; ++b) {
      double weights = 0.0;
      for (std::size_t o = 0; o < kOutputs; ++o) weights += weight(o, neuron) * weight(o, b / (kInputs + 1));
      equations.matrix(index(b), index(a)) = weights * gram.at(a, b);
    }
    for (std::size_t o = 0; o < kOutputs; ++o) {
      const std::size_t output = kLayer1 + o * (kHidden + 1);
      for (std::size_t j = 0; j <= kHidden; ++j) {
        equations.matrix(index(output + j), index(a)) = weight(o, neuron) * gram.at(a, kUnits + j);
      }
      equations.gradient[index(a)] += weight(o, neuron) * gram.at(a, kErrors + o);
    }
  }
  for (std::size_t o = 0; o < kOutputs; ++o) {
    const std::size_t output = kLayer1 + o * (kHidden + 1);
    for (std::size_t j = 0; j <= kHidden; ++j) {
      for (std::size_t k = j; k <= kHidden; ++k) {
        equations.matrix(index(output + k), index(output + j)) = gram.at(kUnits + j, kUnits + k);
      }
      equations.gradient[index(output + j)] = gram.at(kUnits + j, kErrors + o);
    }
    equations.squared_error += gram.at(kErrors + o, kErrors + o);
  }
}

}  // namespace

GramMatrix::GramMatrix(std::size_t columns)
    : stride_((columns + 7) / 8 * 8), sums_(hwy::AllocateAligned<double>(stride_ * stride_)) {
  std::fill_n(sums_.get(), stride_ * stride_, 0.0);
}

void GramMatrix::Add(const double* rows) { HWY_DYNAMIC_DISPATCH(AddRows)(rows, stride_, sums_.get()); }

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
  // Write all rows of a block before reading them: wide loads of narrow stores still under way would stall.
  GramMatrix gram(kColumns);
  const auto rows = hwy::AllocateAligned<double>(kBlock * gram.stride());
  std::fill_n(rows.get(), kBlock * gram.stride(), 0.0);
  Block block;
  for (std::size_t first = 0; first < patterns_; first += kBlock) {
    HWY_DYNAMIC_DISPATCH(RunBlock)(parameters.data(), planes_.data() + first, padded_, block);
    const std::size_t count = std::min(kBlock, patterns_ - first);
    for (std::size_t p = 0; p < count; ++p) {
      BeaconInputs inputs;
      for (std::size_t i = 0; i < kInputs; ++i) inputs[i] = planes_[i * padded_ + first + p];
      FillRow(inputs, block, p, rows.get() + p * gram.stride());
    }
    std::fill(rows.get() + count * gram.stride(), rows.get() + kBlock * gram.stride(), 0.0);
    gram.Add(rows.get());
  }
  Expand(gram, parameters.data(), equations);
}

double BeaconProblem::SquaredError(std::span<const double> parameters) const {
  Block block;
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

}  // namespace tributary::nn
#endif
