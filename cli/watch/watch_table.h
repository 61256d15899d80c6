// The live table: one row per subject, one line of figures. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/watch/truth.h"
#include "cli/watch/watch_statistics.h"
#include "core/wire/watched_slot.h"

namespace tributary::cli {

// What is to be shown at one moment.
struct WatchView {
  std::string site;
  std::string note;        // e.g. that the link is lost; empty if all is well
  wire::WatchedSlot slot;  // the latest
  std::size_t leaves = 0;
  double latency_us = 0;   // of that slot
  WatchFigures figures;    // of all slots so far
  double fused_per_s = 0;  // lately
};

// Lines without line breaks. `truth` may be null.
std::vector<std::string> TableLines(const WatchView& view, const Truth* truth);

// The same in one line, for where there is no terminal.
std::string FiguresText(const WatchView& view);

}  // namespace tributary::cli
