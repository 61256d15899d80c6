#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/offline/conflate.h"

// Whatever comes in: no crash, and every line that goes out is JSON without a null.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tributary::cli::ConflateOptions;
  if (size == 0) return 0;
  ConflateOptions options;
  if (data[0] & 1) options.method = ConflateOptions::Method::kIntersection;
  if (data[0] & 2) options.prior = {0.7, 0.2, 0.1};
  std::istringstream in(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  std::ostringstream out, error;
  tributary::cli::RunConflate(in, out, error, options);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json result = nlohmann::json::parse(line, nullptr, false);
    if (!result.is_object()) std::abort();
    const bool classes = result.contains("log_probabilities");
    const auto& numbers = classes ? result.at("probabilities") : result.at("mean");
    for (const nlohmann::json& number : numbers) {
      if (!number.is_number()) std::abort();
    }
    if (classes ? result.at("log_probabilities")[0].is_null() : result.at("covariance")[0][0].is_null()) {
      std::abort();
    }
  }
  return 0;
}
