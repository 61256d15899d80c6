#include "node/retraining/samples_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tributary::retraining {
namespace {

constexpr std::size_t kFields = 6;
constexpr std::array<const char*, kFields> kNames = {"unix_ns", "range", "range", "range", "x", "y"};
constexpr std::size_t kShownBytes = 40;  // of a bad field

// The whole text as a number.
template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::Status FieldFault(std::size_t field, std::string_view expected, std::string_view found) {
  return absl::InvalidArgumentError(fmt::format("column {} ({}): expected {}, found \"{}\"", field + 1,
                                                kNames[field], expected,
                                                absl::CHexEscape(std::string(found.substr(0, kShownBytes)))));
}

}  // namespace

absl::StatusOr<nn::BeaconExample> ParseSample(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::array<std::string_view, kFields> fields;
  std::size_t count = 0;
  for (std::string_view rest = line;; ++count) {
    const std::size_t comma = rest.find(',');
    if (count < kFields) fields[count] = rest.substr(0, comma);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (++count != kFields) {
    return absl::InvalidArgumentError(
        fmt::format("expected unix_ns,range,range,range,x,y, found {} fields", count));
  }
  nn::BeaconExample sample{};
  const auto time = NumberIn<std::int64_t>(fields[0]);
  if (!time || *time < 0) return FieldFault(0, "nanoseconds since 1970", fields[0]);
  sample.unix_ns = *time;
  for (std::size_t i = 1; i < kFields; ++i) {
    const auto number = NumberIn<double>(fields[i]);
    if (!number || !std::isfinite(*number)) return FieldFault(i, "a number in m", fields[i]);
    const std::size_t ranges = sample.ranges_m.size();
    (i <= ranges ? sample.ranges_m[i - 1] : sample.position_m[i - ranges - 1]) = *number;
  }
  return sample;
}

absl::StatusOr<std::vector<nn::BeaconExample>> ParseSamples(std::string_view text) {
  std::vector<nn::BeaconExample> samples;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line == "\r") continue;
    auto sample = ParseSample(line);
    if (!sample.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ", ", sample.status().message()));
    }
    samples.push_back(*sample);
  }
  return samples;
}

}  // namespace tributary::retraining
