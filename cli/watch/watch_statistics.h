// Figures over all slots that were watched: rates, errors, consistency, latency; and the live table of them.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/watch/class_judgement.h"
#include "core/runtime/latency.h"
#include "core/truth/truth.h"
#include "core/wire/convert.h"

namespace tributary::cli {

// Positions whose slots lie in one stretch of the site's time.
struct WindowFigures {
  std::int64_t begin_unix_ns = 0;
  std::uint64_t judged = 0;
  double error_cm_sum = 0;
  double nees_sum = 0;
};

struct WatchFigures {
  double seconds = 0;  // from the first slot to the latest
  std::uint64_t slots = 0;
  std::uint64_t fused = 0;             // estimates in these slots
  std::uint64_t incomplete_slots = 0;  // to which not every leaf contributed
  std::uint64_t revisions = 0;         // slots that came again; judged the first time only
  std::uint64_t skipped_slots = 0;  // that the aggregator did not send: too slow a reader, or a limited rate
  double fused_per_s = 0;
  double slots_per_s = 0;

  std::uint64_t judged = 0;  // positions whose truth is known; the errors are 0 if there is none
  double mean_error_cm = 0;
  double p90_error_cm = 0;
  double p99_error_cm = 0;
  double max_error_cm = 0;
  double nees = 0;  // mean; 2 for a consistent estimator of a position in the plane

  ClassFigures classes;  // of categorical estimates

  double latency_p50_us = 0;  // from capture to this reader
  double latency_p90_us = 0;
  double latency_p99_us = 0;
};

// One thread's.
class WatchStatistics {
 public:
  static constexpr std::size_t kMostWindows = 10'000;  // further ones have no figures of their own

  // `window_s`: figures also by stretches of this length; 0: of all slots together only.
  explicit WatchStatistics(truth::Truth truth, double window_s = 0)
      : truth_(std::move(truth)), window_ns_(static_cast<std::int64_t>(1e9 * window_s)) {}

  void Add(const wire::WatchedSlot& slot, const wire::SiteDescription& site, std::int64_t received_unix_ns,
           std::int64_t received_steady_ns);

  WatchFigures figures() const;
  // In the order in which they began.
  std::vector<WindowFigures> windows() const;

 private:
  void AddToWindow(std::int64_t slot_unix_ns, double error_m, double nees);

  truth::Truth truth_;
  std::int64_t window_ns_;
  std::map<std::int64_t, WindowFigures> windows_;  // by their beginning
  WatchFigures totals_;                            // counts only
  std::uint64_t first_fused_ = 0;
  std::int64_t first_steady_ns_ = 0;
  std::int64_t last_steady_ns_ = 0;
  // Lengths in nanometres: a logarithmic histogram is one, whatever it counts.
  runtime::LatencyHistogram errors_nm_;
  double nees_sum_ = 0;
  ClassJudgement classes_;
  runtime::LatencyHistogram latency_;
};

// One line of JSON. `windows`: left out where there are none.
std::string FiguresLine(const WatchFigures& figures, std::span<const WindowFigures> windows = {});

// What is to be shown at one moment.
struct WatchView {
  wire::SiteDescription site;
  std::string note;        // e.g. that the link is lost; empty if all is well
  wire::WatchedSlot slot;  // the latest
  double latency_us = 0;   // of that slot
  WatchFigures figures;    // of all slots so far
  double fused_per_s = 0;  // lately
};

// Lines without line breaks.
std::vector<std::string> TableLines(const WatchView& view, const truth::Truth& truth);

// The same in one line, for where there is no terminal.
std::string FiguresText(const WatchView& view);

}  // namespace tributary::cli
