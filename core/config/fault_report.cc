#include "core/config/fault_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/runtime/printable.h"

namespace tributary::config {
namespace {

// A fault has one line; a key between quotes may have more.
std::string InOneLine(std::string_view key) {
  return absl::StrReplaceAll(runtime::Printable(key), {{"\n", "\\x0a"}});
}

}  // namespace

void FaultReport::Add(const toml::source_region& place, std::string_view key, std::string_view what) {
  if (faults_.size() == kMaxFaults) {
    ++more_;
    return;
  }
  const std::pair<unsigned, unsigned> at(place.begin.line, place.begin.column);
  const std::string where = at.first == 0 ? path_ : fmt::format("{}:{}", path_, at.first);
  faults_.insert(
      {at,
       {std::string(key), fmt::format("{}: {}{}{}", where, InOneLine(key), key.empty() ? "" : ": ", what)}});
}

bool FaultReport::Has(std::string_view key) const {
  return std::ranges::any_of(faults_, [key](const auto& entry) {
    const std::string_view at = entry.second.key;
    return at.starts_with(key) && (at.size() == key.size() || at[key.size()] == '.' || at[key.size()] == '[');
  });
}

absl::Status FaultReport::Result() const {
  if (faults_.empty()) return absl::OkStatus();
  const auto line = [](std::string* report, const auto& entry) { report->append(entry.second.line); };
  std::string report = absl::StrJoin(faults_, "\n", line);
  if (more_ > 0) report += fmt::format("\n{}: {} more faults", path_, more_);
  return absl::InvalidArgumentError(report);
}

}  // namespace tributary::config
