#include "node/source/udp_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/runtime/printable.h"

namespace tributary::source {

std::uint64_t UdpCounters::all_unused() const {
  return std::accumulate(unused.begin(), unused.end(), std::uint64_t{0});
}

UdpCounters& UdpCounters::operator+=(const UdpCounters& other) {
  datagrams += other.datagrams;
  std::ranges::transform(unused, other.unused, unused.begin(), std::plus());
  lost_subjects += other.lost_subjects;
  lost_slots += other.lost_slots;
  kernel_drops += other.kernel_drops;
  return *this;
}

void UdpReport::Add(const UdpCounters& lost, std::int64_t now_ns) {
  lost_ += lost;
  if (due_ns_ != kNever) return;
  since_ns_ = now_ns;
  due_ns_ = std::max(now_ns + kFirstNs, next_ns_);
}

void UdpReport::Note(const UdpRefusal& refusal, absl::FunctionRef<std::string()> sender) {
  std::string& example = examples_[static_cast<std::size_t>(refusal.fault)];
  if (example.empty()) example = fmt::format("{}, from {}", refusal.message, sender());
}

std::string UdpReport::Take(std::int64_t now_ns) {
  if (due_ns_ == kNever) return "";
  const UdpCounters lost = std::exchange(lost_, {});
  const auto examples = std::exchange(examples_, {});
  due_ns_ = kNever;
  next_ns_ = now_ns + kIntervalNs;
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < kUdpFaults; ++i) {
    if (lost.unused[i] == 0) continue;
    reasons.push_back(
        fmt::format("{} {} ({})", lost.unused[i], UdpFaultName(static_cast<UdpFault>(i)), examples[i]));
  }
  std::vector<std::string> said;
  if (!reasons.empty()) {
    said.push_back(fmt::format("{} in the last {:.1f} s not used: {}",
                               runtime::Counted(lost.all_unused(), "datagram"),
                               1e-9 * static_cast<double>(now_ns - since_ns_), absl::StrJoin(reasons, ", ")));
  }
  if (lost.kernel_drops > 0) {
    said.push_back(absl::StrCat(runtime::Counted(lost.kernel_drops, "datagram"),
                                " dropped by the kernel: the panel is too slow"));
  }
  if (lost.lost_subjects > 0) {
    said.push_back(absl::StrCat(runtime::Counted(lost.lost_subjects, "subject"),
                                " incomplete when the slot was handed on"));
  }
  return absl::StrJoin(said, "; ");
}

}  // namespace tributary::source
