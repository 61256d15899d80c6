#include "core/estimate/conflation.h"

#include "absl/strings/str_cat.h"
#include "core/estimate/information.h"

namespace tributary::estimate {

template <int D>
absl::StatusOr<Gaussian<D>> Conflate(std::span<const Gaussian<D>> inputs) {
  if (inputs.empty()) return absl::InvalidArgumentError("no estimate to conflate");
  Information<D> sum;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const absl::StatusOr<Information<D>> information = Information<D>::From(inputs[i]);
    if (!information.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("estimate ", i, ": ", information.status().message()));
    }
    sum.Add(*information);
  }
  return sum.ToGaussian();
}

template absl::StatusOr<Gaussian<1>> Conflate(std::span<const Gaussian<1>>);
template absl::StatusOr<Gaussian<2>> Conflate(std::span<const Gaussian<2>>);
template absl::StatusOr<Gaussian<3>> Conflate(std::span<const Gaussian<3>>);

}  // namespace tributary::estimate
