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
  std::istringstream in(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  std::ostringstream out, error;
  tributary::cli::RunConflate(in, out, error, options);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json result = nlohmann::json::parse(line, nullptr, false);
    if (!result.is_object() || result["mean"][0].is_null() || result["covariance"][0][0].is_null())
      std::abort();
  }
  return 0;
}
