// Whether numbers are something that a SourceCalibration can have learnt.
#pragma once

#include "core/estimate/source_calibration.h"
#include "core/status/faults.h"

namespace tributary::estimate {

// The numbers may be anybody's. What has no fault harms nothing: a calibration goes on with it, and forgets
// it as quickly as what it learnt itself. Checked are shapes, finite values, the bounds of corrections, sums
// that the window of a day can reach, and that the normal matrix is positive definite together with the
// prior. Keys: "source[2].scale", "normal", "rhs".
Faults FaultsOf(const LearntCalibration& learnt, const MountingPrior& prior);

}  // namespace tributary::estimate
