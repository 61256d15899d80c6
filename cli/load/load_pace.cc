#include "cli/load/load_pace.h"

#include <algorithm>

namespace tributary::cli {

void LoadPace::Begin(std::int64_t unix_ns, std::int64_t steady_ns, std::int64_t duration_ns) {
  start_unix_ns_ = unix_ns;
  start_ns_ = steady_ns;
  end_ns_ = steady_ns + duration_ns;
  slots_ = 0;
}

std::int64_t LoadPace::NextDueNs() const {
  return start_ns_ + static_cast<std::int64_t>(period_ns_ * static_cast<double>(slots_ + 1));
}

std::optional<estimate::Epoch> LoadPace::Take(std::int64_t steady_ns) {
  const std::int64_t due_ns = NextDueNs();
  if (due_ns > std::min(steady_ns, end_ns_)) return std::nullopt;
  ++slots_;
  const estimate::Epoch epoch = std::max(next_epoch_, slot_.EpochAt(start_unix_ns_ + (due_ns - start_ns_)));
  next_epoch_ = epoch + 1;
  return epoch;
}

std::uint64_t LoadPace::Skip(std::int64_t steady_ns) {
  std::uint64_t skipped = 0;
  while (NextDueNs() <= std::min(steady_ns, end_ns_)) {
    ++slots_;
    ++skipped;
  }
  return skipped;
}

}  // namespace tributary::cli
