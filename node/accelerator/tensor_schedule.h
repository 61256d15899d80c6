// Which commands of the tensor unit compute a section, in which order.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/graph/quantised/quantised_layer.h"

namespace tributary::accelerator {

// A layer with the sum of its result and another tensor, if one is part of its command.
struct TensorWork {
  std::size_t layer = 0;
  std::optional<std::size_t> sum = {};  // the layer that adds
  int input = graph::kAbsent, residual = graph::kAbsent, output = graph::kAbsent;
};

struct TensorSchedule {
  // The tensor that each is in memory. A move gives its input another shape: both are one tensor there, by
  // the name of the first.
  std::vector<int> names;
  std::vector<TensorWork> work;

  int NameOf(int tensor) const {
    return tensor == graph::kAbsent ? graph::kAbsent : names[static_cast<std::size_t>(tensor)];
  }
};

// A sum is part of the command before it where nobody else reads that command's result.
TensorSchedule ScheduleOf(const graph::QuantisedSection& section);

}  // namespace tributary::accelerator
