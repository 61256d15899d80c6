// The simulated radios that a command can name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/radio/burst_generator.h"

namespace tributary::cli {

enum class RadioDomain : std::uint8_t { kReference, kForeign };

inline std::vector<std::pair<std::string, RadioDomain>> RadioDomainWords() {
  return {{"reference", RadioDomain::kReference}, {"foreign", RadioDomain::kForeign}};
}

constexpr std::string_view RadioDomainName(RadioDomain domain) {
  return domain == RadioDomain::kReference ? "reference" : "foreign";
}

inline radio::BurstOptions BurstOptionsOf(RadioDomain domain) {
  return domain == RadioDomain::kReference ? radio::ReferenceDomain() : radio::ForeignDomain();
}

}  // namespace tributary::cli
