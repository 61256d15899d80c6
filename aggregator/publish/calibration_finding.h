// What a source's calibration means, in words for an operator. Pure.
#pragma once

#include <string>

#include "aggregator/fusion/outcomes.h"

namespace tributary::publish {

// "turned by 2.0° ± 0.1°, its errors are 1.8 times as large as it claims; corrected". Empty while nothing
// stands out: fewer than 100 observations, a shift or turn within three standard deviations or below 1 cm and
// 0.2°, a scale within 4/5 to 5/4.
std::string CalibrationFinding(const fusion::LeafCalibration& calibration);

}  // namespace tributary::publish
