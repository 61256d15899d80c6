#include "aggregator/fusion/slot_rows.h"

#include <algorithm>
#include <limits>

namespace tributary::fusion {

void WriteLeaves(const LeafSet& leaves, std::size_t row, estimate::FusedSlot& out) {
  std::uint64_t* const words = &out.contributors[row * out.contributor_words];
  for (std::size_t word = 0; word < out.contributor_words; ++word) words[word] = LeafWord(leaves, word);
}

bool Independent(std::span<const SlotInput> inputs, FusionMethod method) {
  if (inputs.size() == 1) return true;
  if (method != FusionMethod::kProduct) return false;
  LeafSet seen;
  for (const SlotInput& input : inputs) {
    if (Intersect(seen, input.leaves)) return false;
    seen |= input.leaves;
  }
  return true;
}

void SlotRows::LayOut(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  out.captured_unix_ns = std::numeric_limits<std::int64_t>::max();
  for (const SlotInput& input : inputs) {
    out.captured_unix_ns = std::min(out.captured_unix_ns, input.captured_unix_ns);
  }
  out.subjects = inputs[0].subjects;
  agree_ = std::all_of(inputs.begin(), inputs.end(),
                       [&](const SlotInput& input) { return input.subjects == out.subjects; });
  if (!agree_) Merge(inputs, out);
  rows_ = out.subjects.size();
  out.contributor_words = contributor_words_;
  out.contributors.resize(rows_ * contributor_words_);
  out.consistency.resize(rows_);
  WriteContributors(inputs, out);
}

void SlotRows::Merge(std::span<const SlotInput> inputs, estimate::FusedSlot& out) {
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    out.subjects.insert(out.subjects.end(), inputs[i].subjects.begin(), inputs[i].subjects.end());
  }
  std::sort(out.subjects.begin(), out.subjects.end());
  out.subjects.erase(std::unique(out.subjects.begin(), out.subjects.end()), out.subjects.end());
  rows_ = out.subjects.size();
  row_of_.assign(inputs.size() * rows_, kMissing);
  present_.assign(rows_, 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t k = 0; k < inputs[i].subjects.size(); ++k) {
      const auto place = std::lower_bound(out.subjects.begin(), out.subjects.end(), inputs[i].subjects[k]);
      const auto row = static_cast<std::size_t>(place - out.subjects.begin());
      row_of_[i * rows_ + row] = static_cast<std::uint32_t>(k);
      ++present_[row];
    }
  }
}

void SlotRows::WriteContributors(std::span<const SlotInput> inputs, estimate::FusedSlot& out) const {
  LeafSet all;
  bool uniform = agree_;
  for (const SlotInput& input : inputs) {
    all |= input.leaves;
    uniform &= input.tuple_leaves.empty();
  }
  const std::size_t words = contributor_words_;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (uniform && row > 0) {
      std::copy_n(out.contributors.data(), words, &out.contributors[row * words]);
      continue;
    }
    LeafSet leaves = all;
    if (!uniform) {
      leaves.reset();
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (const std::uint32_t k = Of(i, row); k != kMissing) leaves |= inputs[i].LeavesOf(k);
      }
    }
    WriteLeaves(leaves, row, out);
  }
}

}  // namespace tributary::fusion
