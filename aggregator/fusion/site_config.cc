#include "aggregator/fusion/site_config.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tributary::fusion {
namespace {

constexpr std::int64_t kSmallestDefaultWindow = 16;
constexpr std::uint32_t kLargestWindow = 1u << 20;
constexpr std::uint32_t kMostSubjects = 65'536;

absl::Status ToStatus(const std::vector<std::string>& faults) {
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults, "; "));
}

std::vector<std::string> Faults(const FusionTuning& tuning) {
  std::vector<std::string> faults;
  if (tuning.deadline_ns <= 0) {
    faults.push_back(absl::StrCat("deadline is ", tuning.deadline_ns, " ns, must be positive"));
  }
  if (tuning.gate_probability && !(*tuning.gate_probability > 0 && *tuning.gate_probability < 1)) {
    faults.push_back(
        absl::StrCat("gate probability is ", *tuning.gate_probability, ", must lie between 0 and 1"));
  }
  if (tuning.track &&
      !(tuning.track->acceleration_density > 0 && std::isfinite(tuning.track->acceleration_density))) {
    faults.push_back(absl::StrCat("acceleration density of the track is ", tuning.track->acceleration_density,
                                  " m²/s³, must be positive and finite"));
  }
  if (tuning.consistency_window == 0) faults.push_back("consistency window is 0 tuples, must be at least 1");
  return faults;
}

}  // namespace

absl::Status Validate(const FusionTuning& tuning) { return ToStatus(Faults(tuning)); }

std::optional<std::int64_t> AdmittedSlots(const SiteConfig& config) {
  if (!config.max_age_ns || !config.max_lead_ns) return std::nullopt;
  const std::int64_t span_ns = *config.max_age_ns + *config.max_lead_ns;
  // Both ends of the span may lie within a slot.
  return (span_ns + config.slot.ns() - 1) / config.slot.ns() + 1;
}

std::uint32_t DefaultWindowSlots(const SiteConfig& config) {
  const std::optional<std::int64_t> admitted = AdmittedSlots(config);
  if (!admitted) return SiteConfig().window_slots;
  const std::int64_t window =
      std::clamp<std::int64_t>(*admitted, kSmallestDefaultWindow, std::int64_t{kLargestWindow});
  return std::bit_ceil(static_cast<std::uint32_t>(window));
}

absl::Status Validate(const SiteConfig& config) {
  std::vector<std::string> faults = Faults(config.tuning);
  if (config.name.empty()) faults.push_back("the site has no name");
  if (config.dimension < 1 || config.dimension > 3) {
    faults.push_back(absl::StrCat("dimension is ", config.dimension, ", must be 1, 2 or 3"));
  }
  if (config.leaves.empty() || config.leaves.size() > kMaxLeaves) {
    faults.push_back(absl::StrCat(config.leaves.size(), " leaves, must be 1 to ", kMaxLeaves));
  }
  std::set<std::string> seen;
  for (const std::string& leaf : config.leaves) {
    if (leaf.empty()) faults.push_back("a leaf has no name");
    if (!seen.insert(leaf).second) faults.push_back(absl::StrCat("leaf '", leaf, "' is listed twice"));
  }
  if (config.max_subjects < 1 || config.max_subjects > kMostSubjects) {
    faults.push_back(absl::StrCat("max subjects is ", config.max_subjects, ", must be 1 to ", kMostSubjects));
  }
  if (config.window_slots < 1 || config.window_slots > kLargestWindow) {
    faults.push_back(
        absl::StrCat("window is ", config.window_slots, " slots, must be 1 to ", kLargestWindow));
  }
  if (config.max_age_ns.value_or(0) < 0) faults.push_back("max age is negative");
  if (config.max_lead_ns.value_or(0) < 0) faults.push_back("max lead is negative");
  if (const auto admitted = AdmittedSlots(config); admitted && *admitted > config.window_slots) {
    faults.push_back(absl::StrCat("max age and max lead span ", *admitted, " slots of ", config.slot.Text(),
                                  ", more than the window of ", config.window_slots));
  }
  return ToStatus(faults);
}

}  // namespace tributary::fusion
