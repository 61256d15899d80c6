#include "aggregator/fusion/site_config.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tributary::fusion {
namespace {

constexpr std::int64_t kSmallestDefaultWindow = 16;
constexpr std::uint32_t kLargestWindow = 1u << 20;
constexpr std::uint32_t kMostSubjects = 65'536;

// What no hello may carry can never report.
constexpr std::size_t kMaxNameBytes = 128;

absl::Status ToStatus(const std::vector<SettingFault>& faults) {
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(
      faults, "; ", [](std::string* out, const SettingFault& fault) { *out += fault.message; }));
}

template <typename... Parts>
void Add(std::vector<SettingFault>& faults, std::string_view key, const Parts&... parts) {
  faults.push_back({key, absl::StrCat(parts...)});
}

std::vector<SettingFault> FaultsOf(const FusionTuning& tuning) {
  std::vector<SettingFault> faults;
  if (tuning.deadline_ns <= 0) {
    Add(faults, "deadline_ms", "deadline is ", tuning.deadline_ns, " ns, must be positive");
  }
  const double gate = tuning.gate_probability.value_or(0.5);
  if (!(gate > 0 && gate < 1)) {
    Add(faults, "gate_probability", "gate probability is ", gate, ", must lie between 0 and 1");
  }
  const double density = tuning.track.value_or(TrackConfig()).acceleration_density;
  if (!(density > 0 && std::isfinite(density))) {
    Add(faults, "track", "acceleration density of the track is ", density,
        " m²/s³, must be positive and finite");
  }
  return faults;
}

}  // namespace

absl::Status Validate(const FusionTuning& tuning) { return ToStatus(FaultsOf(tuning)); }
absl::Status Validate(const SiteConfig& config) { return ToStatus(FaultsOf(config)); }

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

std::vector<SettingFault> FaultsOf(const SiteConfig& config) {
  std::vector<SettingFault> faults = FaultsOf(config.tuning);
  if (config.name.empty()) Add(faults, "name", "the site has no name");
  if (config.dimension < 1 || config.dimension > 3) {
    Add(faults, "dimension", "dimension is ", config.dimension, ", must be 1, 2 or 3");
  }
  if (config.leaves.empty() || config.leaves.size() > kMaxLeaves) {
    Add(faults, "sources", "expected the names of 1 to ", kMaxLeaves, " sources");
  }
  std::set<std::string_view> seen;
  for (const std::string& leaf : config.leaves) {
    if (!seen.insert(leaf).second) Add(faults, "sources", "\"", leaf, "\" is named twice");
    const bool controls = std::any_of(leaf.begin(), leaf.end(), absl::ascii_iscntrl);
    if (leaf.empty() || leaf.size() > kMaxNameBytes || controls) {
      Add(faults, "sources", "expected names of 1 to ", kMaxNameBytes, " bytes without control characters");
    }
  }
  if (config.max_subjects < 1 || config.max_subjects > kMostSubjects) {
    Add(faults, "max_subjects", "max subjects is ", config.max_subjects, ", must be 1 to ", kMostSubjects);
  }
  if (config.window_slots < 1 || config.window_slots > kLargestWindow) {
    Add(faults, "window_slots", "window is ", config.window_slots, " slots, must be 1 to ", kLargestWindow);
  }
  if (config.max_age_ns.value_or(0) < 0) Add(faults, "max_age_s", "max age is negative");
  if (config.max_lead_ns.value_or(0) < 0) Add(faults, "max_lead_s", "max lead is negative");
  if (const auto admitted = AdmittedSlots(config); admitted && *admitted > config.window_slots) {
    Add(faults, "window_slots", "max age and max lead span ", *admitted, " slots of ", config.slot.Text(),
        ", more than the window of ", config.window_slots);
  }
  return faults;
}

}  // namespace tributary::fusion
