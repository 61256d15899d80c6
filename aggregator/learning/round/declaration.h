// What a node says of itself when it joins a run, and whether the run can use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/learning/run_config.h"
#include "core/parameters/identity.h"
#include "core/parameters/update_encoding.h"

namespace tributary::learning {

struct NodeDeclaration {
  std::string node;
  std::string boot_id;
  std::optional<parameters::Sha256> schema;  // of a model that it has
  std::uint64_t sample_count = 0;            // 0: not known yet; not asked until it joins again and says
  std::vector<std::string> workloads;
  std::vector<parameters::UpdateEncoding> encodings;  // empty: all
  bool secure_aggregation = false;
  bool partial_sums = false;  // its updates are sums of those of nodes of its own

  friend bool operator==(const NodeDeclaration&, const NodeDeclaration&) = default;
};

// Errors: FailedPrecondition for a schema or a capability that the run cannot use; InvalidArgument for an
// absurd sample count or an empty name.
absl::Status CheckDeclaration(const NodeDeclaration& declaration, const RunConfig& config,
                              const parameters::Sha256& schema);

}  // namespace tributary::learning
