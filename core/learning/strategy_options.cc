#include "core/learning/strategy_options.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace tributary::learning {

absl::Status Validate(const StrategyOptions& options) {
  std::string faults;
  const auto check = [&faults](bool good, std::string_view what) {
    if (!good) faults += fmt::format("{}{}", faults.empty() ? "" : "; ", what);
  };
  const auto share = [](double value) { return value >= 0 && value < 1; };
  check(options.learning_rate > 0 && std::isfinite(options.learning_rate), "learning_rate must be positive");
  check(share(options.momentum), "momentum must be from 0 to below 1");
  check(share(options.beta1), "beta1 must be from 0 to below 1");
  check(share(options.beta2), "beta2 must be from 0 to below 1");
  check(options.tau > 0 && std::isfinite(options.tau), "tau must be positive");
  check(options.trim >= 0 && options.trim < 0.5, "trim must be from 0 to below 0.5");
  check(options.byzantine <= 10'000, "byzantine must be at most 10000");
  return faults.empty() ? absl::OkStatus() : absl::InvalidArgumentError(faults);
}

}  // namespace tributary::learning
