// JᵀJ and Jᵀe of a least-squares problem with its squared error; J itself is never stored.
#pragma once

#include <Eigen/Core>
#include <cstddef>

namespace tributary::nn {

// Allocates at construction only.
struct NormalEquations {
  explicit NormalEquations(std::size_t parameters)
      : matrix(parameters, parameters), gradient(static_cast<Eigen::Index>(parameters)) {}

  Eigen::MatrixXd matrix;      // JᵀJ, its lower triangle
  Eigen::VectorXd gradient;    // Jᵀe
  double squared_error = 0.0;  // eᵀe
};

}  // namespace tributary::nn
