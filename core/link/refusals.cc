#include "core/link/refusals.h"

#include <algorithm>

namespace tributary::link {

bool Refusals::Count(const v1::Refusal& refusal, const std::optional<Spool::HeldFrame>& frame,
                     std::int64_t now_steady_ns) {
  constexpr std::int64_t kRefusalLogIntervalNs = 10'000'000'000;
  const bool whole = refusal.subjects_size() == 0;
  const std::uint64_t held_tuples = frame ? frame->tuples : 0;
  const std::uint64_t listed = static_cast<std::uint64_t>(refusal.subjects_size());
  // The aggregator refuses single tuples after it took the frame, which may have left the spool by then.
  const std::uint64_t tuples = whole ? held_tuples : (frame ? std::min(listed, held_tuples) : listed);
  const std::size_t reason = v1::RefusalReason_IsValid(refusal.reason()) ? refusal.reason() : 0;

  const runtime::MutexLock lock(mutex_);
  if (whole && frame && frame->retaken && refusal.reason() == v1::REFUSAL_REASON_DUPLICATE) {
    ++counters_.resent_duplicate_frames;
    counters_.resent_duplicate_tuples += tuples;
    return false;
  }
  if (whole) ++counters_.frames[reason];
  counters_.tuples[reason] += tuples;
  if (now_steady_ns < next_log_ns_[reason]) return false;
  next_log_ns_[reason] = now_steady_ns + kRefusalLogIntervalNs;
  return true;
}

RefusalCounters Refusals::counters() const {
  const runtime::MutexLock lock(mutex_);
  return counters_;
}

}  // namespace tributary::link
