#include "node/source/udp_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"

namespace tributary::source {

void UdpReport::Begin(std::int64_t now_ns) {
  if (due_ns_ != kNever) return;
  since_ns_ = now_ns;
  due_ns_ = std::max(now_ns + kFirstNs, next_ns_);
}

void UdpReport::Note(const UdpRefusal& refusal, absl::FunctionRef<std::string()> sender,
                     std::int64_t now_ns) {
  Begin(now_ns);
  std::string& example = examples_[static_cast<std::size_t>(refusal.fault)];
  if (example.empty()) example = fmt::format("{}, from {}", refusal.message, sender());
}

std::string UdpReport::Take(const UdpCounters& counters, std::int64_t now_ns) {
  if (due_ns_ == kNever) return "";
  UdpCounters lost = counters;
  lost -= std::exchange(told_, counters);
  due_ns_ = kNever;
  next_ns_ = now_ns + kIntervalNs;
  const double seconds = 1e-9 * static_cast<double>(now_ns - since_ns_);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kUdpFaults; ++i) {
    const std::string example = std::exchange(examples_[i], "");
    if (lost.unused[i] == 0) continue;
    parts.push_back(
        fmt::format("{} {} ({})", lost.unused[i], UdpFaultName(static_cast<UdpFault>(i)), example));
  }
  std::vector<std::string> said;
  if (!parts.empty()) {
    said.push_back(fmt::format("{} datagrams in the last {:.1f} s not used: {}", lost.all_unused(), seconds,
                               absl::StrJoin(parts, ", ")));
  }
  if (lost.kernel_drops > 0) {
    said.push_back(
        fmt::format("{} datagrams dropped by the kernel: the panel is too slow", lost.kernel_drops));
  }
  if (lost.lost_subjects > 0) {
    said.push_back(fmt::format("{} subjects incomplete when their slot was handed on", lost.lost_subjects));
  }
  return absl::StrJoin(said, "; ");
}

}  // namespace tributary::source
