// The sources of a site, and the leaves that it waits for.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/fusion/outcomes.h"
#include "aggregator/fusion/site_config.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// A source of tuples. A leaf lists itself; a child aggregator lists the leaves that its tuples can contain.
struct SourceDeclaration {
  std::string name;
  std::uint32_t dimension = 2;
  std::vector<std::string> leaves;
  std::vector<std::string> classes = {};  // of its categorical tuples; dimension is then 0
  std::vector<float> prior = {};          // probabilities of the classes in its tuples; empty: uniform
};

// Valid from Join to Leave.
using SourceHandle = std::uint32_t;

struct SourceEntry {
  SourceStatus status;  // without the consistency
  LeafSet leaves;
  std::vector<std::uint16_t> leaf_indices;   // in the site, in the order of the declaration
  std::vector<float> log_prior;              // [classes] that its tuples contain; empty: uniform
  std::vector<std::uint32_t> last_subjects;  // of its last valid frame: they are distinct
  std::size_t streams = 0;                   // that have joined and not left
  std::uint64_t left = 0;                    // ascends with each source that nobody reports any more
};

using SourceSet = std::bitset<256>;  // by handle

// Not thread-safe.
class SourceTable {
 public:
  static constexpr std::size_t kCapacity = 256;

  explicit SourceTable(const SiteConfig& site);

  // As FusionEngine::Join; changes nothing.
  absl::Status Check(const SourceDeclaration& declaration) const;
  // A known name keeps its entry. A new one takes a free place, or else the place of the source that nobody
  // has reported for longest, unless it is one of `needed`. ResourceExhausted: there is none.
  absl::StatusOr<SourceHandle> Join(const SourceDeclaration& declaration, const SourceSet& needed);
  void Leave(SourceHandle handle);
  // Whether a new source of that name takes the place of another.
  bool MustReplace(const std::string& name) const;

  std::size_t size() const { return entries_.size(); }
  SourceEntry& operator[](SourceHandle handle) { return entries_[handle]; }
  const SourceEntry& operator[](SourceHandle handle) const { return entries_[handle]; }

  // In the order of SiteConfig::leaves.
  const std::vector<LeafStatus>& leaves() const { return leaves_; }

  // The source has joined or reported: slots wait for its leaves.
  void MarkPresent(const SourceEntry& source);
  // A slot with these leaves was fused. Slots stop waiting for a leaf that missed `absent_after` in a row; 0:
  // they go on.
  void CountMissing(const LeafSet& covered, std::uint32_t absent_after);
  // Slots wait for every leaf again.
  void ExpectAll();
  bool Complete(const LeafSet& covered) const { return IsSubset(expected_, covered); }

 private:
  // What was declared; InvalidArgument as in Join.
  absl::Status Read(const SourceDeclaration& declaration, SourceEntry& entry) const;
  absl::Status ReadLeaves(const SourceDeclaration& declaration, SourceEntry& entry) const;
  // Places for names that are no leaves: every leaf has one.
  std::size_t PlacesForOthers() const { return kCapacity - leaves_.size(); }
  absl::StatusOr<SourceHandle> PlaceFor(const std::string& name, const SourceSet& needed);

  const SiteConfig& site_;
  std::unordered_map<std::string, std::uint16_t> leaf_by_name_;
  std::unordered_map<std::string, SourceHandle> handle_by_name_;
  std::vector<SourceEntry> entries_;
  std::vector<LeafStatus> leaves_;
  std::size_t others_ = 0;  // entries whose names are no leaves
  std::uint64_t last_left_ = 0;
  LeafSet all_;
  LeafSet expected_;  // without the absent ones
};

// The leaves of tuple `row`. Check the frame's shape against the source first.
LeafSet LeavesOfTuple(const estimate::TupleFrame& frame, std::size_t row, const SourceEntry& source);

}  // namespace tributary::fusion
