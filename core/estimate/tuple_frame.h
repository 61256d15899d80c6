// The Gaussian tuples of one slot: of one source, as they flow from workload to fusion, and fused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/estimate/slot_length.h"

namespace tributary::estimate {

// Elements of a lower-triangular factor of the given dimension, row by row: l11, l21, l22, l31, l32, l33.
constexpr std::size_t TriangleSize(std::size_t dimension) { return dimension * (dimension + 1) / 2; }

// n subjects of dimension d in one slot. Members are reused from slot to slot; vectors keep their capacity.
struct SlotTuples {
  Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;  // of a fused slot: the earliest of its contributions
  std::uint32_t revision = 0;         // a higher one replaces the earlier tuples of (source, epoch)
  std::uint32_t dimension = 2;
  std::vector<std::uint32_t> subjects;  // [n]
  std::vector<float> means;             // [n × d], m
  std::vector<float> cholesky;          // [n × d(d+1)/2], m: rows of the lower factor
  // [n × words], bits of the source's or the site's leaves. A frame may leave it empty: all leaves.
  std::vector<std::uint64_t> contributors;
};

// One source's tuples.
struct TupleFrame : SlotTuples {
  std::uint64_t sequence = 0;
  std::uint32_t source = 0;  // index in the sender's declaration
};

// One fused slot of a site, as watchers and a parent receive it. Rows are in the frames' order if all frames
// of the slot list the same subjects in the same order, else in ascending order of the subject.
struct FusedSlot : SlotTuples {
  std::int64_t fused_unix_ns = 0;
  std::uint32_t contributor_words = 1;  // per subject: ceil(leaves / 64)
  // [n]: sum over the contributions of their squared Mahalanobis distance to the fused mean, divided by its
  // expectation d(k-1); about 1 for consistent sources, 0 where only one contributed.
  std::vector<float> consistency;
  std::vector<float> velocities;  // [n × d], m/s; empty unless the site tracks its subjects
};

}  // namespace tributary::estimate
