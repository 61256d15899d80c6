#include "core/nn/kernel/gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

struct Sizes {
  std::size_t rows, depth, columns;
};

// Below, at and across the tile (6 × 64), block (96 × 256 × 512) and lane boundaries.
constexpr std::array<Sizes, 9> kSizes = {{{1, 1, 1},
                                          {5, 20, 16},
                                          {6, 256, 64},
                                          {7, 257, 65},
                                          {95, 3, 31},
                                          {97, 300, 100},
                                          {200, 1024, 16},
                                          {13, 512, 513},
                                          {192, 64, 1024}}};

MatrixView Stored(const std::vector<float>& values, std::size_t rows, std::size_t columns, bool transposed) {
  return transposed ? Transposed(RowMajor(values.data(), columns, rows))
                    : RowMajor(values.data(), rows, columns);
}

double At(const MatrixView& m, std::size_t row, std::size_t column) {
  return m.data[row * m.row_stride + column * m.column_stride];
}

// Rounding of a sum of n products: |error| <= n · 2^-24 · Σ |a||b| (Higham, Accuracy and Stability,
// section 3.1).
void ExpectProduct(const MatrixView& a, const MatrixView& b, const std::vector<float>& c, double added) {
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < b.columns; ++j) {
      double sum = added, magnitude = std::abs(added);
      for (std::size_t k = 0; k < a.columns; ++k) {
        sum += At(a, i, k) * At(b, k, j);
        magnitude += std::abs(At(a, i, k) * At(b, k, j));
      }
      const double bound = static_cast<double>(a.columns + 1) * 0x1p-24 * magnitude;
      ASSERT_NEAR(c[i * b.columns + j], sum, bound) << i << ", " << j;
    }
  }
}

TEST(GemmTest, MultipliesAnyShapeInAnyOrientation) {
  Gemm gemm;
  for (const auto& [rows, depth, columns] : kSizes) {
    const std::vector<float> a_values = RandomValues(rows * depth, 1);
    const std::vector<float> b_values = RandomValues(depth * columns, 2);
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " x " << depth << " x " << columns << " " << transpose_a << transpose_b);
        const MatrixView a = Stored(a_values, rows, depth, transpose_a);
        const MatrixView b = Stored(b_values, depth, columns, transpose_b);
        std::vector<float> c(rows * columns, std::nanf(""));  // whatever was there is overwritten
        gemm.Multiply(a, b, c.data());
        ExpectProduct(a, b, c, 0);
        c.assign(c.size(), 3.0f);
        gemm.Multiply(a, b, c.data(), /*accumulate=*/true);
        ExpectProduct(a, b, c, 3);
      }
    }
  }
}

}  // namespace
}  // namespace tributary::nn
