#include "core/http/query.h"

#include <fmt/format.h>

#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tributary::http {
namespace {

absl::Status Unfit(std::string_view key, std::string_view expected, std::string_view found) {
  return absl::InvalidArgumentError(fmt::format("{}: expected {}, found \"{}\"", key, expected, found));
}

}  // namespace

absl::StatusOr<std::uint64_t> IntegerParameter(const HttpRequest& request, const std::string& key,
                                               std::uint64_t absent, std::uint64_t least,
                                               std::uint64_t most) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return absent;
  std::uint64_t value = 0;
  if (!absl::SimpleAtoi(found->second, &value) || value < least || value > most) {
    return Unfit(key, fmt::format("an integer from {} to {}", least, most), found->second);
  }
  return value;
}

absl::StatusOr<double> NumberParameter(const HttpRequest& request, const std::string& key, double absent,
                                       double least, double most) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return absent;
  double value = 0;
  // NaN is in no range.
  if (!absl::SimpleAtod(found->second, &value) || !(value >= least && value <= most)) {
    return Unfit(key, fmt::format("a number from {} to {}", least, most), found->second);
  }
  return value;
}

absl::StatusOr<bool> FlagParameter(const HttpRequest& request, const std::string& key) {
  const std::string value = request.Parameter(key);
  if (value == "true") return true;
  if (value == "false" || !request.query.contains(key)) return false;
  return Unfit(key, "true or false", value);
}

absl::StatusOr<std::vector<std::uint32_t>> NumbersParameter(const HttpRequest& request,
                                                            const std::string& key) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return std::vector<std::uint32_t>();
  std::vector<std::uint32_t> values;
  for (const absl::string_view part : absl::StrSplit(found->second, ',')) {
    if (!absl::SimpleAtoi(part, &values.emplace_back())) {
      return Unfit(key, "integers from 0 to 4294967295, separated by commas", found->second);
    }
  }
  return values;
}

}  // namespace tributary::http
