// One Gaussian estimate as a line of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::cli {

// {"site":"a","epoch":"1","subject":1,"source":"p1","mean":[x,y],"scale_tril":[l11,l21,l22]}
struct EstimateLine {
  std::string site;
  std::uint64_t epoch = 0;
  std::uint32_t subject = 0;
  std::string source;
  std::vector<double> mean;        // [d], m; d is 1, 2 or 3
  std::vector<double> scale_tril;  // [d(d+1)/2], m: rows of the lower Cholesky factor
};

// InvalidArgument: not a JSON object, or a field that is missing, of the wrong type, of the wrong length, not
// finite or not positive on the diagonal; the message names it, and what is allowed. Other fields are
// ignored.
absl::StatusOr<EstimateLine> ParseEstimateLine(std::string_view text);

}  // namespace tributary::cli
