// The tuples of one slot: of one source, as they flow from workload to fusion, and fused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate/slot_length.h"

namespace tributary::estimate {

// Elements of a lower-triangular factor of the given dimension, row by row: l11, l21, l22, l31, l32, l33.
constexpr std::size_t TriangleSize(std::size_t dimension) { return dimension * (dimension + 1) / 2; }

// What a tuple consists of: a Gaussian of d dimensions, or the log-probabilities of c classes. One of the two
// is 0, and so is the length of its arrays: code that follows the lengths serves both kinds.
struct TupleShape {
  std::uint32_t dimension = 2;  // 1, 2 or 3
  std::uint32_t classes = 0;

  constexpr std::size_t means() const { return dimension; }
  constexpr std::size_t cholesky() const { return TriangleSize(dimension); }
  constexpr std::size_t numbers() const { return means() + cholesky() + classes; }
  friend bool operator==(const TupleShape&, const TupleShape&) = default;
};

// n subjects in one slot. Members are reused from slot to slot; vectors keep their capacity.
struct SlotTuples {
  Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;     // of a fused slot: the earliest of its contributions
  std::uint32_t revision = 0;            // a higher one replaces the earlier tuples of (source, epoch)
  std::uint32_t dimension = 2;           // d, or 0
  std::uint32_t classes = 0;             // c, or 0
  std::vector<std::uint32_t> subjects;   // [n]
  std::vector<float> means;              // [n × d], m
  std::vector<float> cholesky;           // [n × d(d+1)/2], m: rows of the lower factor
  std::vector<float> log_probabilities;  // [n × c], natural logarithms
  // [n × words], bits of the source's or the site's leaves. A frame may leave it empty: all leaves.
  std::vector<std::uint64_t> contributors;

  // Bytes of the arrays in memory; on the wire they take at most a byte for each subject more.
  std::size_t payload_bytes() const {
    return subjects.size() * sizeof(std::uint32_t) + contributors.size() * sizeof(std::uint64_t) +
           (means.size() + cholesky.size() + log_probabilities.size()) * sizeof(float);
  }
  TupleShape shape() const { return {dimension, classes}; }
  void set_shape(TupleShape shape) {
    dimension = shape.dimension;
    classes = shape.classes;
  }
  // Empties it for the tuples of another slot.
  void Begin(Epoch slot, std::int64_t captured_ns, TupleShape shape) {
    epoch = slot;
    captured_unix_ns = captured_ns;
    set_shape(shape);
    subjects.clear();
    for (auto* const numbers : {&means, &cholesky, &log_probabilities}) numbers->clear();
    contributors.clear();
  }
};

// One source's tuples.
struct TupleFrame : SlotTuples {
  std::uint64_t sequence = 0;
  std::uint32_t source = 0;  // index in the sender's declaration
};

// What became of a source's tuple when its subject was fused.
enum class TupleFate : std::uint8_t {
  kFused,
  kRedundant,  // left out: its leaves are in a larger contribution
  kGated,      // left out: it disagrees too much with the others
};

// What one source says of a subject.
struct SourceTuple {
  std::string source;
  std::int64_t captured_unix_ns = 0;
  TupleFate fate = TupleFate::kFused;
  // How far it lies from the fusion of the others: normalised innovation squared, or with classes the
  // logarithm of the surprise. Unset without an independent other.
  std::optional<double> innovation = {};
  std::vector<float> mean = {};               // [d], m
  std::vector<float> cholesky = {};           // [d(d+1)/2], m
  std::vector<float> log_probabilities = {};  // [c]: what it says alone, with the site's prior
};

// All that was said of a subject in a slot, in the order of arrival.
struct SubjectTuples {
  std::uint32_t subject = 0;
  std::optional<double> gate = {};  // the largest innovation that is admitted; unset: any
  std::vector<SourceTuple> tuples = {};
};

// One fused slot of a site, as watchers and a parent receive it. Rows are in the frames' order if all frames
// of the slot list the same subjects in the same order, else in ascending order of the subject.
struct FusedSlot : SlotTuples {
  std::int64_t fused_unix_ns = 0;
  std::uint32_t contributor_words = 1;  // per subject: ceil(leaves / 64)
  // [n]: sum over the contributions of their squared Mahalanobis distance to the fused mean, divided by its
  // expectation d(k-1); with classes the mean of their surprises. About 1 for consistent sources, 0 where
  // only one contributed.
  std::vector<float> consistency;
  std::vector<float> velocities;  // [n × d], m/s; empty unless the site tracks its subjects
  // What was said of the subjects that somebody asks for; null: of none that is in the slot.
  std::shared_ptr<const std::vector<SubjectTuples>> contributions;
};

}  // namespace tributary::estimate
