// Splits channels of large weights before a graph is quantised, after [Zhao19].
#pragma once

#include "core/graph/quantise/model_edit.h"

namespace tributary::graph {

// Where one convolution reads the result of another, through Relu and Clip only: a channel between them is
// made twice, and read twice with half the weights. The graph gives what it gave; the steps of the reader's
// integers become finer, because their largest weights are smaller. Each reader has up to `share` of its
// channels split, rounded up, those first that have the largest weights. The file is one that Session::Load
// takes. The number of channels that were split.
int SplitOutlierChannels(ModelEdit& edit, double share);

}  // namespace tributary::graph
