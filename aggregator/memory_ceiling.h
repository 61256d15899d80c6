// What peers can make the aggregator's memory grow to: the limits of a configuration, added up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/config.h"

namespace tributary::aggregator {

struct MemoryTerm {
  std::string what;
  std::uint64_t bytes = 0;
  std::string limits;  // what bounds it: keys, or a number
};

// Every term that peers can make grow. docs/security.md says what is not among them.
std::vector<MemoryTerm> MemoryTerms(const AggregatorConfig& config);
std::uint64_t SumOf(const std::vector<MemoryTerm>& terms);
// "28 MiB", rounded up.
std::string MiB(std::uint64_t bytes);

// The terms and their sum as lines of text.
std::string MemoryText(const std::vector<MemoryTerm>& terms);
// What to do if the sum is more than the process may have (bytes); nothing if it fits.
std::optional<std::string> MemoryAdvice(const std::vector<MemoryTerm>& terms, std::uint64_t allowed);

}  // namespace tributary::aggregator
