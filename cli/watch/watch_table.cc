#include "cli/watch/watch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kMaxRows = 64;

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

const Table& SubjectTable() {
  static const Table table({Right("subject", 8), Right("x m", 9), Right("y m", 9), Right("sigma cm"),
                            Right("error cm", 9), Right("consistency", 12), Right("sources", 9)});
  return table;
}

std::string Row(const WatchView& view, const Truth* truth, std::size_t subject) {
  const wire::WatchedSlot& slot = view.slot;
  const float* mean = &slot.means[subject * slot.dimension];
  const double y = slot.dimension > 1 ? double{mean[1]} : 0.0;
  std::string error = "-";
  if (truth != nullptr) {
    if (const auto at = truth->At(slot.subjects[subject], slot.epoch, slot.length)) {
      error = fmt::format("{:.2f}", 100 * JudgeEstimate(slot, subject, *at).error_m);
    }
  }
  return SubjectTable().Row(slot.subjects[subject], fmt::format("{:.3f}", mean[0]), fmt::format("{:.3f}", y),
                            fmt::format("{:.2f}", SigmaCm(slot, subject)), error,
                            fmt::format("{:.2f}", slot.consistency[subject]),
                            fmt::format("{}/{}", ContributorCount(slot, subject), view.leaves));
}

}  // namespace

std::vector<std::string> TableLines(const WatchView& view, const Truth* truth) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("site {}   epoch {}   latency {:.0f} us   {}", view.site, view.slot.epoch,
                              view.latency_us, view.note));
  lines.push_back("");
  lines.push_back(SubjectTable().Heading());
  const std::size_t rows = std::min(view.slot.subjects.size(), kMaxRows);
  for (std::size_t i = 0; i < rows; ++i) lines.push_back(Row(view, truth, i));
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
  text +=
      fmt::format("   latency {:.0f} us (99 %: {:.0f})   incomplete {}   skipped {}", figures.latency_p50_us,
                  figures.latency_p99_us, figures.incomplete_slots, figures.skipped_slots);
  if (!view.note.empty()) text += "   " + view.note;
  return text;
}

}  // namespace tributary::cli
