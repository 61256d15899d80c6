#include "aggregator/publish/reader_share.h"

#include <algorithm>

namespace tributary::publish {
namespace {

constexpr std::int64_t kPeriodNs = 20'000'000;
constexpr double kShare = 0.25;
// The interval stays while the cost is between these parts of the share.
constexpr double kRelaxBelow = 0.8;
constexpr double kRelax = 0.9;
// The first interval above the share, and the smallest one worth keeping.
constexpr std::int64_t kFirstNs = 100'000;
constexpr std::int64_t kLongestNs = 1'000'000'000;

}  // namespace

void ReaderShare::Spent(std::int64_t ns, std::int64_t now_steady_ns) {
  spent_ns_.fetch_add(std::max<std::int64_t>(ns, 0), std::memory_order_relaxed);
  std::int64_t begin_ns = period_begin_ns_.load(std::memory_order_relaxed);
  const std::int64_t passed_ns = now_steady_ns - begin_ns;
  if (passed_ns < kPeriodNs) return;
  // One thread closes the period.
  if (!period_begin_ns_.compare_exchange_strong(begin_ns, now_steady_ns, std::memory_order_relaxed)) return;
  Adjust(spent_ns_.exchange(0, std::memory_order_relaxed), passed_ns);
}

void ReaderShare::Adjust(std::int64_t spent_ns, std::int64_t passed_ns) {
  const double used = static_cast<double>(spent_ns) / static_cast<double>(passed_ns * threads_);
  std::int64_t interval_ns = interval_ns_.load(std::memory_order_relaxed);
  if (used > kShare) {
    const double factor = std::clamp(used / kShare, 1.0, 1.0 / kShare);
    interval_ns = static_cast<std::int64_t>(factor * static_cast<double>(std::max(interval_ns, kFirstNs)));
  } else if (used < kRelaxBelow * kShare) {
    // Readers may be served rarely: apply the factor once for every period that has passed.
    const std::int64_t periods = passed_ns / kPeriodNs;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(periods, 100); ++i) {
      interval_ns = static_cast<std::int64_t>(kRelax * static_cast<double>(interval_ns));
    }
    if (interval_ns < kFirstNs) interval_ns = 0;
  }
  interval_ns_.store(std::min(interval_ns, kLongestNs), std::memory_order_relaxed);
}

}  // namespace tributary::publish
