#include "core/scene/recording_csv.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tributary::scene {
namespace {

constexpr std::size_t kMaxShown = 40;  // bytes of a bad field in a message

// Removes digits from the front, at least one and at most `most`.
std::optional<std::int64_t> TakeDigits(std::string_view& text, std::size_t most) {
  std::int64_t value = 0;
  std::size_t taken = 0;
  while (taken < text.size() && taken < most && text[taken] >= '0' && text[taken] <= '9') {
    value = value * 10 + (text[taken++] - '0');
  }
  if (taken == 0) return std::nullopt;
  text.remove_prefix(taken);
  return value;
}

bool TakeCharacter(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> TakeFractionNs(std::string_view& text) {
  if (text.empty()) return 0;
  if (!TakeCharacter(text, '.')) return std::nullopt;
  const std::size_t before = text.size();
  std::optional<std::int64_t> fraction = TakeDigits(text, 9);
  if (!fraction) return std::nullopt;
  for (std::size_t digits = before - text.size(); digits < 9; ++digits) *fraction *= 10;
  return fraction;
}

}  // namespace

std::optional<std::int64_t> ParseRecordingTime(std::string_view text) {
  const auto year = TakeDigits(text, 4);
  if (!year || !TakeCharacter(text, '-')) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakeCharacter(text, '-')) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day || !TakeCharacter(text, ' ')) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  if (!hour || !TakeCharacter(text, ':')) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || !TakeCharacter(text, ':')) return std::nullopt;
  const auto second = TakeDigits(text, 2);
  if (!second) return std::nullopt;
  const auto fraction_ns = TakeFractionNs(text);
  if (!fraction_ns || !text.empty()) return std::nullopt;

  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  // Years before the Unix epoch or beyond 64-bit nanoseconds have no epoch number.
  if (!date.ok() || *year < 1970 || *year > 2261 || *hour > 23 || *minute > 59 || *second > 59)
    return std::nullopt;
  const auto time = std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
                    std::chrono::seconds(*second);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count() + *fraction_ns;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> SplitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::string_view TakeLine(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

absl::Status FieldError(std::size_t line, std::size_t column, std::string_view name,
                        std::string_view expected, std::string_view found) {
  const std::string shown(found.substr(0, kMaxShown));
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ", column ", column, " (", std::string(name),
                                                 "): expected ", std::string(expected), ", found \"",
                                                 absl::CHexEscape(shown), "\""));
}

}  // namespace tributary::scene
