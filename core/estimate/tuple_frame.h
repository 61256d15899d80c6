// The Gaussian tuples of one source in one slot, as they flow from workload to fusion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/estimate/epoch.h"

namespace tributary::estimate {

// Elements of a lower-triangular factor of the given dimension, row by row: l11, l21, l22, l31, l32, l33.
constexpr std::size_t TriangleSize(std::size_t dimension) { return dimension * (dimension + 1) / 2; }

// n subjects of dimension d. Members are reused from slot to slot; vectors keep their capacity.
struct TupleFrame {
  std::uint64_t sequence = 0;
  Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;
  std::uint32_t source = 0;    // index in the sender's declaration
  std::uint32_t revision = 0;  // a higher one replaces the earlier frame of (source, epoch)
  std::uint32_t dimension = 2;
  std::vector<std::uint32_t> subjects;      // [n]
  std::vector<float> means;                 // [n × d], m
  std::vector<float> cholesky;              // [n × d(d+1)/2], m
  std::vector<std::uint64_t> contributors;  // empty (all leaves of the source) or [n × words]
};

}  // namespace tributary::estimate
