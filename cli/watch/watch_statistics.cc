#include "cli/watch/watch_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/estimate/tuple_frame.h"

namespace tributary::cli {
namespace {

constexpr double kNmPerM = 1e9;
constexpr double kCmPerNm = 1e-7;

}  // namespace

std::size_t ContributorCount(const wire::WatchedSlot& slot, std::size_t subject) {
  std::size_t count = 0;
  for (std::size_t word = 0; word < slot.contributor_words; ++word) {
    count +=
        static_cast<std::size_t>(std::popcount(slot.contributors[subject * slot.contributor_words + word]));
  }
  return count;
}

Judgement JudgeEstimate(const wire::WatchedSlot& slot, std::size_t subject,
                        const std::array<double, 2>& truth) {
  const float* mean = &slot.means[subject * slot.dimension];
  const float* factor = &slot.cholesky[subject * estimate::TriangleSize(slot.dimension)];
  const double dx = double{mean[0]} - truth[0];
  if (slot.dimension == 1) return {std::abs(dx), dx * dx / (double{factor[0]} * factor[0])};
  const double dy = double{mean[1]} - truth[1];
  // The leading 2 × 2 block of the factor is that of the marginal: L z = difference.
  const double zx = dx / factor[0];
  const double zy = (dy - factor[1] * zx) / factor[2];
  return {std::hypot(dx, dy), zx * zx + zy * zy};
}

void WatchStatistics::Add(const wire::WatchedSlot& slot, std::size_t leaves, std::int64_t received_unix_ns,
                          std::int64_t received_steady_ns) {
  totals_.skipped_slots += slot.skipped_slots;
  if (slot.revision > 0) {
    ++totals_.revisions;
    return;
  }
  if (totals_.slots++ == 0) {
    first_steady_ns_ = received_steady_ns;
    first_fused_ = slot.subjects.size();
  }
  last_steady_ns_ = received_steady_ns;
  totals_.fused += slot.subjects.size();
  latency_.Add(received_unix_ns - slot.captured_unix_ns);
  bool complete = true;
  for (std::size_t i = 0; i < slot.subjects.size(); ++i) {
    complete = complete && ContributorCount(slot, i) == leaves;
    if (truth_ != nullptr) Judge(slot, i);
  }
  if (!complete) ++totals_.incomplete_slots;
}

void WatchStatistics::Judge(const wire::WatchedSlot& slot, std::size_t subject) {
  const auto truth = truth_->At(slot.subjects[subject], slot.epoch, slot.length);
  if (!truth) return;
  const Judgement judgement = JudgeEstimate(slot, subject, *truth);
  // Beyond what a site can be: the estimate is as wrong as it can be, and the sum stays finite.
  constexpr double kMaxErrorM = 1e6;
  const double error_m = judgement.error_m < kMaxErrorM ? judgement.error_m : kMaxErrorM;
  ++totals_.judged;
  errors_nm_.Add(static_cast<std::int64_t>(error_m * kNmPerM));
  nees_sum_ += judgement.nees;
}

WatchFigures WatchStatistics::figures() const {
  WatchFigures figures = totals_;
  figures.seconds = 1e-9 * static_cast<double>(last_steady_ns_ - first_steady_ns_);
  if (figures.seconds > 0) {
    // Intervals, not fence posts: the first slot only starts the clock.
    figures.slots_per_s = static_cast<double>(figures.slots - 1) / figures.seconds;
    figures.fused_per_s = static_cast<double>(figures.fused - first_fused_) / figures.seconds;
  }
  if (figures.judged > 0) {
    const auto quantile_cm = [this](double q) {
      return kCmPerNm * static_cast<double>(errors_nm_.QuantileNs(q));
    };
    figures.mean_error_cm = kCmPerNm * errors_nm_.mean_ns();
    figures.p90_error_cm = quantile_cm(0.9);
    figures.p99_error_cm = quantile_cm(0.99);
    figures.max_error_cm = kCmPerNm * static_cast<double>(errors_nm_.max_ns());
    figures.nees = nees_sum_ / static_cast<double>(figures.judged);
  }
  const auto quantile_us = [this](double q) { return 1e-3 * static_cast<double>(latency_.QuantileNs(q)); };
  figures.latency_p50_us = quantile_us(0.5);
  figures.latency_p90_us = quantile_us(0.9);
  figures.latency_p99_us = quantile_us(0.99);
  return figures;
}

std::string FiguresLine(const WatchFigures& figures) {
  const auto tenths = [](double value) { return std::round(value * 10) / 10; };
  const auto thousandths = [](double value) { return std::round(value * 1000) / 1000; };
  nlohmann::ordered_json line = {
      {"seconds", thousandths(figures.seconds)},
      {"slots", figures.slots},
      {"fused_tuples", figures.fused},
      {"slots_per_s", tenths(figures.slots_per_s)},
      {"fused_per_s", tenths(figures.fused_per_s)},
      {"incomplete_slots", figures.incomplete_slots},
      {"revisions", figures.revisions},
      {"skipped_slots", figures.skipped_slots},
  };
  if (figures.judged > 0) {
    line["judged"] = figures.judged;
    line["mean_error_cm"] = thousandths(figures.mean_error_cm);
    line["p90_error_cm"] = thousandths(figures.p90_error_cm);
    line["p99_error_cm"] = thousandths(figures.p99_error_cm);
    line["max_error_cm"] = thousandths(figures.max_error_cm);
    line["nees"] = thousandths(figures.nees);
  }
  line["latency_us"] = {{"p50", tenths(figures.latency_p50_us)},
                        {"p90", tenths(figures.latency_p90_us)},
                        {"p99", tenths(figures.latency_p99_us)}};
  return line.dump();
}

}  // namespace tributary::cli
