// Everything that an aggregator does before it listens, connects or locks its store. Start continues from the
// result; --check ends with it. So both find the same faults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/config.h"
#include "aggregator/join/authority.h"
#include "aggregator/learning/judge/evaluation_images.h"
#include "core/config/access_tokens.h"
#include "core/config/config.h"
#include "core/config/tls.h"

namespace tributary::aggregator {

struct PreparedAggregator {
  AggregatorConfig config;
  std::optional<config::LoadedTls> tls;
  config::TokenSet tokens;                               // of config.access_files
  std::optional<join::Authority> authority;              // the same
  std::optional<learning::EvaluationImages> evaluation;  // of config.federation
  std::vector<std::string> remarks;                      // no faults, but worth a line at start
};

// Reads the configuration and the files that it names. Errors: InvalidArgument with a line for every fault:
// file, line, key.
absl::StatusOr<PreparedAggregator> PrepareAggregator(const config::ConfigFile& file);

}  // namespace tributary::aggregator
