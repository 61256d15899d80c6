#include "aggregator/fusion/source_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/estimate/categorical.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::fusion {
namespace {

// The source's tuples are of the site's kind: the same dimension, or the same classes in the same order.
absl::Status CheckKind(const SourceDeclaration& declaration, const SiteConfig& site) {
  const std::vector<std::string>& classes = declaration.classes;
  const auto count = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("no classes") : absl::StrCat(names.size(), " classes");
  };
  if (site.classes.empty() && !classes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", count(classes), ", the site has positions"));
  }
  if (classes.size() != site.classes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", count(classes), ", must have the site's ",
                                                   count(site.classes), ": ",
                                                   absl::StrJoin(site.classes, ", ")));
  }
  const auto [found, expected] = std::ranges::mismatch(classes, site.classes);
  if (found != classes.end()) {
    return absl::InvalidArgumentError(absl::StrCat("class ", found - classes.begin(), " is '", *found,
                                                   "', must be the site's '", *expected, "'"));
  }
  if (declaration.dimension != site.dimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimension is ", declaration.dimension, ", must be the site's ", site.dimension));
  }
  if (declaration.prior.empty()) return absl::OkStatus();
  const std::string fault = estimate::PriorFault<float>(declaration.prior, classes.size());
  return fault.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("prior: ", fault));
}

}  // namespace

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

absl::Status SourceTable::ReadLeaves(const SourceDeclaration& declaration, SourceEntry& entry) const {
  if (declaration.leaves.empty()) return absl::InvalidArgumentError("leaves is empty");
  for (const std::string& leaf : declaration.leaves) {
    const auto found = leaf_by_name_.find(leaf);
    if (found == leaf_by_name_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the site has no source '", leaf,
          "': set [[panel]] name of the node to one that it has, or add this one to [[site]] sources "
          "of the aggregator. It has ",
          absl::StrJoin(site_.leaves, ", ")));
    }
    if (entry.leaves[found->second]) {
      return absl::InvalidArgumentError(absl::StrCat("leaf '", leaf, "' is listed twice"));
    }
    entry.leaves.set(found->second);
    entry.leaf_indices.push_back(found->second);
  }
  return absl::OkStatus();
}

absl::Status SourceTable::Read(const SourceDeclaration& declaration, SourceEntry& entry) const {
  const auto read = [&]() -> absl::Status {
    if (declaration.name.empty()) return absl::InvalidArgumentError("name is empty");
    RETURN_IF_ERROR(CheckKind(declaration, site_));
    RETURN_IF_ERROR(ReadLeaves(declaration, entry));
    for (const float each : declaration.prior) entry.log_prior.push_back(std::log(each));
    return absl::OkStatus();
  };
  return WithContext(absl::StrCat("site '", site_.name, "', source '", declaration.name, "'"), read());
}

absl::Status SourceTable::Check(const SourceDeclaration& declaration) const {
  SourceEntry entry;
  return Read(declaration, entry);
}

bool SourceTable::MustReplace(const std::string& name) const {
  if (handle_by_name_.contains(name)) return false;
  return entries_.size() == kCapacity || (!leaf_by_name_.contains(name) && others_ >= PlacesForOthers());
}

absl::StatusOr<SourceHandle> SourceTable::PlaceFor(const std::string& name, const SourceSet& needed) {
  const bool leaf = leaf_by_name_.contains(name);
  if (!MustReplace(name)) {
    others_ += !leaf;
    entries_.emplace_back();
    return static_cast<SourceHandle>(entries_.size() - 1);
  }
  std::optional<SourceHandle> oldest;
  for (SourceHandle each = 0; each < entries_.size(); ++each) {
    const SourceEntry& entry = entries_[each];
    if (entry.streams > 0 || needed[each] || leaf_by_name_.contains(entry.status.name)) continue;
    if (!oldest || entry.left < entries_[*oldest].left) oldest = each;
  }
  if (!oldest) {
    return absl::ResourceExhaustedError(absl::StrCat("site '", site_.name, "', source '", name,
                                                     "': the site has ", kCapacity, " sources already"));
  }
  others_ -= leaf;
  handle_by_name_.erase(entries_[*oldest].status.name);
  entries_[*oldest] = SourceEntry();
  return *oldest;
}

absl::StatusOr<SourceHandle> SourceTable::Join(const SourceDeclaration& declaration,
                                               const SourceSet& needed) {
  SourceEntry declared;
  RETURN_IF_ERROR(Read(declaration, declared));
  SourceHandle handle = 0;
  if (const auto known = handle_by_name_.find(declaration.name); known != handle_by_name_.end()) {
    handle = known->second;
  } else {
    ASSIGN_OR_RETURN(handle, PlaceFor(declaration.name, needed));
    handle_by_name_[declaration.name] = handle;
    entries_[handle].status.name = declaration.name;
  }
  SourceEntry& entry = entries_[handle];
  entry.leaves = declared.leaves;
  entry.leaf_indices = std::move(declared.leaf_indices);
  entry.log_prior = std::move(declared.log_prior);
  ++entry.streams;
  MarkPresent(entry);
  return handle;
}

void SourceTable::Leave(SourceHandle handle) {
  SourceEntry& entry = entries_[handle];
  if (entry.streams > 0 && --entry.streams == 0) entry.left = ++last_left_;
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
