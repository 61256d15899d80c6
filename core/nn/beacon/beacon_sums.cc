#include "core/nn/beacon/beacon_sums.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace tributary::nn {
namespace {

constexpr int kDigitBits = 11;
constexpr std::int64_t kDigitBase = std::int64_t{1} << kDigitBits;
constexpr std::size_t kFractionDigits = 4;
constexpr int kFractionBits = kDigitBits * static_cast<int>(kFractionDigits);

// Every number of the sums, in the order of the digits.
template <class Sums, class Visit>
void VisitSums(Sums& sums, Visit visit) {
  const auto size = static_cast<Eigen::Index>(BeaconNetwork::kParameters);
  for (Eigen::Index row = 0; row < size; ++row) {
    for (Eigen::Index column = 0; column <= row; ++column) visit(sums.equations.matrix(row, column));
  }
  for (Eigen::Index row = 0; row < size; ++row) visit(sums.equations.gradient[row]);
  visit(sums.equations.squared_error);
  visit(sums.patterns);
}

// The last digit takes what is left. False if that is too large for a digit.
bool PackWhole(std::int64_t whole, std::span<float> digits) {
  for (float& digit : digits.first(digits.size() - 1)) {
    const std::int64_t value = ((whole + kDigitBase / 2) & (kDigitBase - 1)) - kDigitBase / 2;
    digit = static_cast<float>(value);
    whole = (whole - value) >> kDigitBits;
  }
  digits.back() = static_cast<float>(whole);
  return std::fabs(digits.back()) <= kMaxBeaconDigit;
}

std::int64_t UnpackWhole(std::span<const float> digits) {
  std::int64_t whole = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    whole = whole * kDigitBase + static_cast<std::int64_t>(digits[i]);
  }
  return whole;
}

// One rounding, to the nearest double.
double Unpack(std::span<const float> digits) {
  const std::int64_t fraction = UnpackWhole(digits.first(kFractionDigits));
  const std::int64_t carried = fraction >> kFractionBits;
  const std::int64_t whole = UnpackWhole(digits.subspan(kFractionDigits)) + carried;
  const std::int64_t rest = fraction - (carried << kFractionBits);
  return static_cast<double>(whole) + std::ldexp(static_cast<double>(rest), -kFractionBits);
}

}  // namespace

absl::Status PackBeaconSums(const BeaconSums& sums, std::span<float> digits) {
  if (digits.size() != kBeaconSumElements) return absl::InvalidArgumentError("digits of another network");
  std::size_t next = 0;
  bool fits = true;
  VisitSums(sums, [&](double value) {
    const std::span<float> its = digits.subspan(next, kBeaconDigits);
    next += kBeaconDigits;
    fits = fits && std::fabs(value) < 0x1p33;  // false for NaN
    if (!fits) return;
    const double whole = std::nearbyint(value);
    const double fraction = std::nearbyint(std::ldexp(value - whole, kFractionBits));
    fits = PackWhole(static_cast<std::int64_t>(whole), its.subspan(kFractionDigits)) &&
           PackWhole(static_cast<std::int64_t>(fraction), its.first(kFractionDigits));
  });
  if (fits) return absl::OkStatus();
  return absl::OutOfRangeError("a sum over the patterns is not finite or beyond 2^32");
}

absl::StatusOr<BeaconSums> UnpackBeaconSums(std::span<const float> digits, std::size_t boards) {
  if (digits.size() != kBeaconSumElements || boards < 1 || boards > kMaxBeaconBoards) {
    return absl::InvalidArgumentError(fmt::format("{} digits of {} boards", digits.size(), boards));
  }
  const float largest = kMaxBeaconDigit * static_cast<float>(boards);
  for (const float digit : digits) {
    if (!(std::fabs(digit) <= largest)) {
      return absl::OutOfRangeError(fmt::format("a digit of {} from {} boards", digit, boards));
    }
  }
  BeaconSums sums;
  sums.equations.matrix.setZero();
  std::size_t next = 0;
  VisitSums(sums, [&](double& value) {
    value = Unpack(digits.subspan(next, kBeaconDigits));
    next += kBeaconDigits;
  });
  if (!(sums.patterns >= 1) || sums.equations.squared_error < 0 ||
      (sums.equations.matrix.diagonal().array() < 0).any()) {
    return absl::InvalidArgumentError("sums without patterns, or of negative squares");
  }
  return sums;
}

}  // namespace tributary::nn
