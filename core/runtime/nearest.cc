#include "core/runtime/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tributary::runtime {
namespace {

// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  std::iota(edits[0].begin(), edits[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    edits[i][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, edits[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
      }
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string nearest;
  // Longer words than any of ours are not compared: the cost is their product.
  std::size_t least = word.size() > 64 ? 0 : word.size() > 3 ? 3 : 2;
  for (const std::string& candidate : candidates) {
    if (least == 0) break;
    const std::size_t faults = Edits(word, candidate);
    // One letter in place of another is no misspelling of a single letter.
    if (faults >= least || faults >= candidate.size()) continue;
    least = faults;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(const std::string& meant) {
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

}  // namespace tributary::runtime
