#include "aggregator/fusion/site_config.h"

#include <algorithm>
#include <bit>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/estimate/categorical.h"

namespace tributary::fusion {
namespace {

constexpr std::int64_t kSmallestDefaultWindow = 16;
constexpr std::uint32_t kLargestWindow = 1u << 20;
constexpr std::uint32_t kMostSubjects = 65'536;

void Check(const FusionTuning& tuning, Faults& faults) {
  faults.Check(tuning.deadline_ns > 0, "deadline_ms",
               absl::StrCat("must be positive, found ", tuning.deadline_ns, " ns"));
  const double gate = tuning.gate_probability.value_or(0.5);
  faults.Check(gate > 0 && gate < 1, "gate_probability",
               absl::StrCat("must lie between 0 and 1, found ", gate));
}

void CheckDistinct(const std::vector<std::string>& names, std::string_view key, Faults& faults) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    faults.Check(seen.insert(name).second, key, absl::StrCat("\"", name, "\" is named twice"));
  }
}

void CheckCount(std::uint32_t count, std::uint32_t most, std::string_view key, Faults& faults) {
  faults.Check(count >= 1 && count <= most, key, absl::StrCat("must be from 1 to ", most, ", found ", count));
}

void CheckClasses(const SiteConfig& config, Faults& faults) {
  const auto classes = static_cast<std::uint32_t>(config.classes.size());
  faults.Check(classes >= estimate::kLeastClasses && classes <= estimate::kMostClasses, "classes",
               absl::StrCat("expected the names of ", estimate::kLeastClasses, " to ", estimate::kMostClasses,
                            " classes, found ", classes));
  CheckDistinct(config.classes, "classes", faults);
  faults.Check(config.dimension == 0, "dimension", "a site with classes has none");
  faults.Check(!config.tuning.track, "track", "only positions have tracks, this site has classes");
  const std::uint64_t numbers = std::uint64_t{classes} * config.max_subjects * config.leaves.size();
  faults.Check(
      numbers <= kMostClassNumbers, "max_subjects",
      absl::StrCat(config.leaves.size(), " sources with ", config.max_subjects, " subjects of ", classes,
                   " classes each are ", numbers, " numbers, a slot may have ", kMostClassNumbers));
  if (config.prior.empty()) return;
  const std::string fault = estimate::PriorFault<double>(config.prior, classes);
  faults.Check(fault.empty(), "prior", fault);
}

}  // namespace

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

Faults FaultsOf(const SiteConfig& config) {
  Faults faults;
  Check(config.tuning, faults);
  if (config.classes.empty()) {
    CheckCount(config.dimension, 3, "dimension", faults);
    faults.Check(config.prior.empty(), "prior", "is for a site with classes");
  } else {
    CheckClasses(config, faults);
  }
  CheckCount(config.max_subjects, kMostSubjects, "max_subjects", faults);
  CheckCount(config.window_slots, kLargestWindow, "window_slots", faults);
  faults.Check(
      !config.leaves.empty() && config.leaves.size() <= kMaxLeaves, "sources",
      absl::StrCat("expected the names of 1 to ", kMaxLeaves, " sources, found ", config.leaves.size()));
  CheckDistinct(config.leaves, "sources", faults);
  faults.Check(config.max_age_ns.value_or(0) >= 0, "max_age_s", "must not be negative");
  faults.Check(config.max_lead_ns.value_or(0) >= 0, "max_lead_s", "must not be negative");
  const std::int64_t admitted = AdmittedSlots(config).value_or(0);
  faults.Check(admitted <= config.window_slots, "window_slots",
               absl::StrCat("max age and max lead span ", admitted, " slots of ", config.slot.Text(),
                            ", more than the window of ", config.window_slots));
  return faults;
}

absl::Status Validate(const SiteConfig& config) { return FaultsOf(config).Result(); }

}  // namespace tributary::fusion
