// JᵀJ and Jᵀe of a least-squares problem, accumulated row by row: J itself is never stored.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "hwy/aligned_allocator.h"

namespace tributary {

// Owns its buffers; Clear and Add allocate nothing. One thread at a time.
class NormalEquations {
 public:
  // Rows handed to Add at once; eight fill the registers' worth of work per load of JᵀJ.
  static constexpr std::size_t kRows = 8;

  explicit NormalEquations(std::size_t parameters);

  std::size_t parameters() const { return parameters_; }
  // Elements from one row of a block to the next: parameters, padded to whole vectors.
  std::size_t stride() const { return stride_; }

  void Clear();

  // Adds kRows rows of J [kRows × stride] with their errors [kRows]. Padding and unused rows are zero.
  void Add(const double* rows, const double* errors);

  double squared_error() const { return squared_error_; }  // eᵀe
  Eigen::MatrixXd Matrix() const;                          // JᵀJ, symmetric
  Eigen::VectorXd Gradient() const;                        // Jᵀe

 private:
  std::size_t parameters_;
  std::size_t stride_;
  hwy::AlignedFreeUniquePtr<double[]> matrix_;    // [stride × stride], from the diagonal's vector on
  hwy::AlignedFreeUniquePtr<double[]> gradient_;  // [stride]
  double squared_error_ = 0.0;
};

}  // namespace tributary
