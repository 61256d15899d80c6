// The Gaussian tuples of one slot: of one source, as they flow from workload to fusion, and fused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/estimate/slot_length.h"

namespace tributary::estimate {

// Elements of a lower-triangular factor of the given dimension, row by row: l11, l21, l22, l31, l32, l33.
constexpr std::size_t TriangleSize(std::size_t dimension) { return dimension * (dimension + 1) / 2; }

// One source's tuples: n subjects of dimension d. Members are reused from slot to slot; vectors keep their
// capacity.
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

// One fused slot of a site, as watchers and a parent receive it: n subjects of dimension d. Rows are in the
// frames' order if all frames of the slot list the same subjects in the same order, else in ascending order
// of the subject. Members are reused from slot to slot; vectors keep their capacity.
struct FusedSlot {
  Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;  // the earliest of its contributions
  std::int64_t fused_unix_ns = 0;
  std::uint32_t revision = 0;
  std::uint32_t dimension = 2;
  std::uint32_t contributor_words = 1;      // per subject: ceil(leaves / 64)
  std::vector<std::uint32_t> subjects;      // [n]
  std::vector<float> means;                 // [n × d], m
  std::vector<float> cholesky;              // [n × d(d+1)/2], m: rows of the lower factor
  std::vector<std::uint64_t> contributors;  // [n × contributor_words], bits of the site's leaves
  // [n]: sum over the contributions of their squared Mahalanobis distance to the fused mean, divided by its
  // expectation d(k-1); about 1 for consistent sources, 0 where only one contributed.
  std::vector<float> consistency;
  std::vector<float> velocities;  // [n × d], m/s; empty unless the site tracks its subjects
};

}  // namespace tributary::estimate
