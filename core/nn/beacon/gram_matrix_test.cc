#include <Eigen/Core>
#include <algorithm>

#include "core/nn/beacon/beacon_problem.h"
#include "gtest/gtest.h"

namespace tributary::nn {
namespace {

constexpr auto kRows = static_cast<Eigen::Index>(GramMatrix::kRows);

class GramMatrixTest : public ::testing::TestWithParam<int> {};

TEST_P(GramMatrixTest, SumsTheProductsOfAllColumns) {
  const Eigen::Index columns = GetParam();
  GramMatrix gram(static_cast<std::size_t>(columns));
  const Eigen::MatrixXd matrix = Eigen::MatrixXd::Random(2 * kRows, columns);
  const auto stride = static_cast<Eigen::Index>(gram.stride());
  const auto rows = hwy::AllocateAligned<double>(GramMatrix::kRows * gram.stride());
  const auto add = [&](Eigen::Index first) {
    std::fill_n(rows.get(), GramMatrix::kRows * gram.stride(), 0.0);
    for (Eigen::Index r = 0; r < kRows; ++r) {
      for (Eigen::Index k = 0; k < columns; ++k)
        rows[static_cast<std::size_t>(r * stride + k)] = matrix(first + r, k);
    }
    gram.Add(rows.get());
  };
  add(0);
  add(kRows);
  const Eigen::MatrixXd expected = matrix.transpose() * matrix;
  for (Eigen::Index i = 0; i < columns; ++i) {
    for (Eigen::Index k = i; k < columns; ++k) {
      // 32 products of magnitude at most 1 and their roundings of 1.1e-16.
      EXPECT_NEAR(gram.at(static_cast<std::size_t>(i), static_cast<std::size_t>(k)), expected(i, k), 1e-14);
    }
  }
}

// One vector, an odd number of vectors, and the beacon problem's width.
INSTANTIATE_TEST_SUITE_P(Widths, GramMatrixTest, ::testing::Values(1, 13, 24, 53));

}  // namespace
}  // namespace tributary::nn
