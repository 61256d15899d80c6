#include "cli/watch/watch_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "cli/table.h"
#include "core/estimate/tuple_frame.h"
#include "core/runtime/elapsed.h"

namespace tributary::cli {
namespace {

constexpr double kNmPerM = 1e9;
constexpr double kCmPerNm = 1e-7;
constexpr std::size_t kMaxRows = 64;

// Leaves that contributed to an estimate.
std::size_t ContributorCount(const wire::WatchedSlot& slot, std::size_t subject) {
  std::size_t count = 0;
  for (std::size_t word = 0; word < slot.contributor_words; ++word) {
    count +=
        static_cast<std::size_t>(std::popcount(slot.contributors[subject * slot.contributor_words + word]));
  }
  return count;
}

// Error of one estimate in m and its squared Mahalanobis distance to the truth, in the plane (the first two
// dimensions).
struct Judgement {
  double error_m;
  double nees;
};

// Nothing where the truth is not known, or the estimate is no position.
std::optional<Judgement> JudgeEstimate(const wire::WatchedSlot& slot, estimate::SlotLength length,
                                       std::size_t subject, const truth::Truth& truth) {
  if (slot.dimension == 0 || !truth) return std::nullopt;
  const truth::TrueState state = truth(slot.subjects[subject], slot.epoch, length);
  const auto* const at = std::get_if<truth::PlanePosition>(&state);
  if (at == nullptr) return std::nullopt;
  const float* mean = &slot.means[subject * slot.dimension];
  const float* factor = &slot.cholesky[subject * estimate::TriangleSize(slot.dimension)];
  const double dx = double{mean[0]} - (*at)[0];
  if (slot.dimension == 1) return Judgement{std::abs(dx), dx * dx / (double{factor[0]} * factor[0])};
  const double dy = double{mean[1]} - (*at)[1];
  // The leading 2 × 2 block of the factor is that of the marginal: L z = difference.
  const double zx = dx / factor[0];
  const double zy = (dy - factor[1] * zx) / factor[2];
  return Judgement{std::hypot(dx, dy), zx * zx + zy * zy};
}

std::span<const float> LogProbabilities(const wire::WatchedSlot& slot, std::size_t subject) {
  return {&slot.log_probabilities[subject * slot.classes], slot.classes};
}

// The true class as an index into the site's. Nothing where it is not known or not one of the site's.
std::optional<std::size_t> TrueClass(const wire::WatchedSlot& slot, const wire::SiteDescription& site,
                                     std::size_t subject, const truth::Truth& truth) {
  if (slot.classes == 0 || !truth) return std::nullopt;
  const truth::TrueState state = truth(slot.subjects[subject], slot.epoch, site.slot);
  const auto* const name = std::get_if<std::string_view>(&state);
  if (name == nullptr) return std::nullopt;
  const auto found = std::ranges::find(site.classes, *name);
  if (found == site.classes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - site.classes.begin());
}

// Root mean square of the standard deviations along the axes, cm.
double SigmaCm(const wire::WatchedSlot& slot, std::size_t subject) {
  const std::size_t size = estimate::TriangleSize(slot.dimension);
  double trace = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double element = slot.cholesky[subject * size + i];
    trace += element * element;
  }
  return 100 * std::sqrt(trace / slot.dimension);
}

const Table& PositionTable() {
  static const Table table({Right("subject", 8), Right("x m", 9), Right("y m", 9), Right("sigma cm"),
                            Right("error cm", 9), Right("consistency", 12), Right("sources", 9)});
  return table;
}

const Table& ClassTable() {
  static const Table table({Right("subject", 8), Left("true class", 12), Left("class", 12),
                            Right("probability"), Left("next class", 12), Right("probability"),
                            Right("consistency", 12), Right("sources", 9)});
  return table;
}

std::string SourcesCell(const WatchView& view, std::size_t subject) {
  return fmt::format("{}/{}", ContributorCount(view.slot, subject), view.site.leaves.size());
}

std::string PositionRow(const WatchView& view, const truth::Truth& truth, std::size_t subject) {
  const wire::WatchedSlot& slot = view.slot;
  const float* mean = &slot.means[subject * slot.dimension];
  const double y = slot.dimension > 1 ? double{mean[1]} : 0.0;
  const auto judgement = JudgeEstimate(slot, view.site.slot, subject, truth);
  const std::string error = judgement ? fmt::format("{:.2f}", 100 * judgement->error_m) : "-";
  return PositionTable().Row(slot.subjects[subject], fmt::format("{:.3f}", mean[0]), fmt::format("{:.3f}", y),
                             fmt::format("{:.2f}", SigmaCm(slot, subject)), error,
                             fmt::format("{:.2f}", slot.consistency[subject]), SourcesCell(view, subject));
}

// The two classes that are likeliest.
std::string ClassRow(const WatchView& view, const truth::Truth& truth, std::size_t subject) {
  const wire::WatchedSlot& slot = view.slot;
  const std::span<const float> logs = LogProbabilities(slot, subject);
  std::size_t best = 0;
  std::size_t next = 1;
  if (logs[next] > logs[best]) std::swap(best, next);
  for (std::size_t c = 2; c < logs.size(); ++c) {
    if (logs[c] > logs[best]) {
      next = std::exchange(best, c);
    } else if (logs[c] > logs[next]) {
      next = c;
    }
  }
  const auto probability = [&](std::size_t c) { return fmt::format("{:.4f}", std::exp(logs[c])); };
  const std::optional<std::size_t> true_class = TrueClass(slot, view.site, subject, truth);
  return ClassTable().Row(slot.subjects[subject], true_class ? view.site.classes[*true_class] : "-",
                          view.site.classes[best], probability(best), view.site.classes[next],
                          probability(next), fmt::format("{:.2f}", slot.consistency[subject]),
                          SourcesCell(view, subject));
}

}  // namespace

void WatchStatistics::Add(const wire::WatchedSlot& slot, const wire::SiteDescription& site,
                          std::int64_t received_unix_ns, std::int64_t received_steady_ns) {
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
  latency_.Add(runtime::ElapsedNs(slot.captured_unix_ns, received_unix_ns));
  bool complete = true;
  for (std::size_t i = 0; i < slot.subjects.size(); ++i) {
    complete = complete && ContributorCount(slot, i) == site.leaves.size();
    if (const auto true_class = TrueClass(slot, site, i, truth_)) {
      classes_.Add(slot.subjects[i], LogProbabilities(slot, i), *true_class);
    }
    const auto judgement = JudgeEstimate(slot, site.slot, i, truth_);
    if (!judgement) continue;
    // Beyond what a site can be: the estimate is as wrong as it can be, and the sum stays finite.
    constexpr double kMaxErrorM = 1e6;
    const double error_m = judgement->error_m < kMaxErrorM ? judgement->error_m : kMaxErrorM;
    ++totals_.judged;
    errors_nm_.Add(static_cast<std::int64_t>(error_m * kNmPerM));
    nees_sum_ += judgement->nees;
    if (window_ns_ > 0) AddToWindow(site.slot.StartNs(slot.epoch), error_m, judgement->nees);
  }
  if (!complete) ++totals_.incomplete_slots;
}

void WatchStatistics::AddToWindow(std::int64_t slot_unix_ns, double error_m, double nees) {
  const std::int64_t begin_ns = slot_unix_ns / window_ns_ * window_ns_;
  if (windows_.size() == kMostWindows && !windows_.contains(begin_ns)) return;
  WindowFigures& window = windows_[begin_ns];
  window.begin_unix_ns = begin_ns;
  ++window.judged;
  window.error_cm_sum += 100 * error_m;
  window.nees_sum += nees;
}

std::vector<WindowFigures> WatchStatistics::windows() const {
  std::vector<WindowFigures> windows;
  for (const auto& [begin_ns, window] : windows_) windows.push_back(window);
  return windows;
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
  figures.classes = classes_.figures();
  const auto quantile_us = [this](double q) { return 1e-3 * static_cast<double>(latency_.QuantileNs(q)); };
  figures.latency_p50_us = quantile_us(0.5);
  figures.latency_p90_us = quantile_us(0.9);
  figures.latency_p99_us = quantile_us(0.99);
  return figures;
}

std::string FiguresLine(const WatchFigures& figures, std::span<const WindowFigures> windows) {
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
  if (figures.classes.judged > 0) {
    line["judged"] = figures.classes.judged;
    line["accuracy"] = thousandths(figures.classes.accuracy);
    line["nll"] = thousandths(figures.classes.nll);
    line["votes"] = figures.classes.votes;
    line["voted_accuracy"] = thousandths(figures.classes.voted_accuracy);
  }
  line["latency_us"] = {{"p50", tenths(figures.latency_p50_us)},
                        {"p90", tenths(figures.latency_p90_us)},
                        {"p99", tenths(figures.latency_p99_us)}};
  for (const WindowFigures& window : windows) {
    const auto count = static_cast<double>(window.judged);
    line["windows"].push_back({{"begin_unix_ns", window.begin_unix_ns},
                               {"judged", window.judged},
                               {"mean_error_cm", thousandths(window.error_cm_sum / count)},
                               {"nees", thousandths(window.nees_sum / count)}});
  }
  return line.dump();
}

std::vector<std::string> TableLines(const WatchView& view, const truth::Truth& truth) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("site {}   epoch {}   latency {:.0f} us   {}", view.site.name, view.slot.epoch,
                              view.latency_us, view.note));
  lines.push_back("");
  const bool classes = view.slot.classes > 0;
  lines.push_back(classes ? ClassTable().Heading() : PositionTable().Heading());
  const std::size_t rows = std::min(view.slot.subjects.size(), kMaxRows);
  for (std::size_t i = 0; i < rows; ++i) {
    lines.push_back(classes ? ClassRow(view, truth, i) : PositionRow(view, truth, i));
  }
  if (rows < view.slot.subjects.size()) {
    lines.push_back(fmt::format("{:>8} {} more", "", view.slot.subjects.size() - rows));
  }
  lines.push_back("");
  lines.push_back(FiguresText(view));
  return lines;
}

std::string FiguresText(const WatchView& view) {
  const WatchFigures& figures = view.figures;
  std::string text = fmt::format("{:.0f} s   {:.0f} fused/s", figures.seconds, view.fused_per_s);
  if (figures.judged > 0) {
    text += fmt::format("   error {:.2f} cm (90 %: {:.2f})   NEES {:.2f}", figures.mean_error_cm,
                        figures.p90_error_cm, figures.nees);
  }
  if (figures.classes.judged > 0) {
    text += fmt::format("   right {:.1f} %", 100 * figures.classes.accuracy);
  }
  if (figures.classes.votes > 0) {
    text +=
        fmt::format("   vote of {} {:.1f} %", ClassJudgement::kVotes, 100 * figures.classes.voted_accuracy);
  }
  text +=
      fmt::format("   latency {:.0f} us (99 %: {:.0f})   incomplete {}   skipped {}", figures.latency_p50_us,
                  figures.latency_p99_us, figures.incomplete_slots, figures.skipped_slots);
  if (!view.note.empty()) text += "   " + view.note;
  return text;
}

}  // namespace tributary::cli
