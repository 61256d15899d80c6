#include "core/scene/ranges_csv.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/scene/recording_csv.h"

namespace tributary::scene {
namespace {

constexpr std::size_t kRanges = kAnchors * kTags;
constexpr double kMaxRangeM = 1000.0;

std::string ColumnName(std::size_t range) { return absl::StrCat("a", range / kTags, "-t", range % kTags); }

absl::StatusOr<RangeRow> ParseRow(std::string_view line, std::size_t number) {
  const std::vector<std::string_view> fields = SplitFields(line);
  if (fields.size() != kRanges + 1) {
    return absl::InvalidArgumentError(absl::StrCat("line ", number, ": expected time and ", kRanges,
                                                   " ranges, found ", fields.size(), " fields"));
  }
  const auto time = ParseRecordingTime(fields[0]);
  if (!time) return FieldError(number, 1, "time", "a time as 2022-08-15 9:42:24.766", fields[0]);
  RangeRow row{.unix_ns = *time, .range_m = {}};
  for (std::size_t i = 0; i < kRanges; ++i) {
    const std::string_view field = fields[i + 1];
    if (field.empty()) {
      row.range_m[i] = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    const auto range = ParseNumber(field);
    if (!range || *range < 0.0 || *range > kMaxRangeM) {
      return FieldError(number, i + 2, ColumnName(i), "a range of 0 to 1000 m", field);
    }
    row.range_m[i] = static_cast<float>(*range);
  }
  return row;
}

}  // namespace

absl::StatusOr<std::vector<RangeRow>> ParseRanges(std::string_view csv) {
  std::vector<RangeRow> rows;
  for (std::size_t number = 1; !csv.empty(); ++number) {
    const std::string_view line = TakeLine(csv);
    if (line.empty()) continue;
    absl::StatusOr<RangeRow> row = ParseRow(line, number);
    if (!row.ok()) return row.status();
    if (!rows.empty() && row->unix_ns < rows.back().unix_ns) {
      return FieldError(number, 1, "time", "a time not before the previous line's",
                        line.substr(0, line.find(',')));
    }
    rows.push_back(*row);
  }
  if (rows.empty()) return absl::InvalidArgumentError("no line with ranges");
  return rows;
}

}  // namespace tributary::scene
