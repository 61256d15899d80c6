// Whether a round's training helps: one answer for the command line and the metrics.
#pragma once

#include <string>

#include "tributary/v1/run.pb.h"

namespace tributary::learning {

// Below it features are taken for collapsed: all images look alike (core/nn/optimise/cosine_loss.h). The
// alert TributaryRepresentationsCollapse has the same limit.
inline constexpr double kCollapsedSpread = 0.2;

// The nodes' views or, if the round was evaluated, the test images. False for a round without an update.
bool Collapsed(const v1::Round& round);

// It was committed, and its updates add up to nothing.
bool ChangedNothing(const v1::Round& round);

// The linear probe or the nearest neighbours are right less often than with the untrained encoder.
bool WorseThanUntrained(const v1::Evaluation& evaluation);

// "collapsed; worse than untrained by the nearest neighbours"; empty if nothing is wrong.
std::string VerdictText(const v1::Round& round);

}  // namespace tributary::learning
