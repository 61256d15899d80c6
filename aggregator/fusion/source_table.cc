#include "aggregator/fusion/source_table.h"

#include <bit>

#include "absl/strings/str_cat.h"

namespace tributary::fusion {

SourceTable::SourceTable(const SiteConfig& site) : site_(site) {
  for (std::size_t i = 0; i < site.leaves.size(); ++i) {
    leaf_by_name_[site.leaves[i]] = static_cast<std::uint16_t>(i);
    leaves_.push_back({.name = site.leaves[i]});
    all_.set(i);
  }
  expected_ = all_;
}

void SourceTable::MarkPresent(const SourceEntry& source) {
  expected_ |= source.leaves;
  for (const std::uint16_t leaf : source.leaf_indices) {
    leaves_[leaf].missed_in_a_row = 0;
    leaves_[leaf].absent = false;
  }
}

void SourceTable::CountMissing(const LeafSet& covered, std::uint32_t absent_after) {
  if (IsSubset(all_, covered)) return;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (covered[i]) continue;
    LeafStatus& leaf = leaves_[i];
    ++leaf.missed_slots;
    ++leaf.missed_in_a_row;
    if (absent_after == 0 || leaf.missed_in_a_row < absent_after) continue;
    leaf.absent = true;
    expected_.reset(i);
  }
}

void SourceTable::ExpectAll() {
  expected_ = all_;
  for (LeafStatus& leaf : leaves_) leaf.absent = false;
}

absl::StatusOr<SourceHandle> SourceTable::Join(const SourceDeclaration& declaration) {
  const std::string source = absl::StrCat("site '", site_.name, "', source '", declaration.name, "': ");
  if (declaration.name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(source, "name is empty"));
  }
  if (declaration.dimension != site_.dimension) {
    return absl::InvalidArgumentError(absl::StrCat(source, "dimension is ", declaration.dimension,
                                                   ", must be the site's ", site_.dimension));
  }
  if (declaration.leaves.empty()) return absl::InvalidArgumentError(absl::StrCat(source, "leaves is empty"));

  SourceEntry entry;
  entry.status.name = declaration.name;
  for (const std::string& leaf : declaration.leaves) {
    const auto found = leaf_by_name_.find(leaf);
    if (found == leaf_by_name_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(source, "leaf '", leaf, "' is not one of the site's"));
    }
    if (entry.leaves[found->second]) {
      return absl::InvalidArgumentError(absl::StrCat(source, "leaf '", leaf, "' is listed twice"));
    }
    entry.leaves.set(found->second);
    entry.leaf_indices.push_back(found->second);
  }

  if (const auto known = handle_by_name_.find(declaration.name); known != handle_by_name_.end()) {
    SourceEntry& present = entries_[known->second];
    present.leaves = entry.leaves;
    present.leaf_indices = std::move(entry.leaf_indices);
    MarkPresent(present);
    return known->second;
  }
  if (entries_.size() == kCapacity) {
    return absl::ResourceExhaustedError(absl::StrCat(source, "the site has ", kCapacity, " sources already"));
  }
  const auto handle = static_cast<SourceHandle>(entries_.size());
  handle_by_name_[declaration.name] = handle;
  MarkPresent(entry);
  entries_.push_back(std::move(entry));
  return handle;
}

LeafSet LeavesOfTuple(const estimate::TupleFrame& frame, std::size_t row, const SourceEntry& source) {
  const std::size_t words = LeafWords(source.leaf_indices.size());
  LeafSet leaves;
  for (std::size_t word = 0; word < words; ++word) {
    for (std::uint64_t bits = frame.contributors[row * words + word]; bits != 0; bits &= bits - 1) {
      leaves.set(source.leaf_indices[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))]);
    }
  }
  return leaves;
}

}  // namespace tributary::fusion
