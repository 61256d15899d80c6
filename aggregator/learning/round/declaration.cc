#include "aggregator/learning/round/declaration.h"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::learning {
namespace {

constexpr std::size_t kMaxNodeName = 128;

template <class Range, class Value>
bool Lacks(const Range& range, const Value& value) {
  return std::ranges::find(range, value) == range.end();
}

}  // namespace

absl::Status CheckDeclaration(const NodeDeclaration& declaration, const RunConfig& config,
                              const parameters::Sha256& schema) {
  if (declaration.node.empty() || declaration.node.size() > kMaxNodeName) {
    return absl::InvalidArgumentError(fmt::format("a node's name has 1 to {} bytes", kMaxNodeName));
  }
  if (declaration.sample_count > config.max_samples) {
    return absl::InvalidArgumentError(
        fmt::format("{} samples, this run admits at most {}", declaration.sample_count, config.max_samples));
  }
  if (declaration.schema && *declaration.schema != schema) {
    return absl::FailedPreconditionError(fmt::format("the node's model has schema {}, this run's has {}",
                                                     parameters::HexOf(*declaration.schema),
                                                     parameters::HexOf(schema)));
  }
  if (!declaration.workloads.empty() && Lacks(declaration.workloads, config.client.workload())) {
    return absl::FailedPreconditionError(
        fmt::format("this run trains {}, which the node cannot", config.client.workload()));
  }
  const bool secure = config.privacy.secure_aggregation;
  const parameters::UpdateEncoding encoding =
      secure ? parameters::UpdateEncoding::kFixed32 : EncodingOf(config.client);
  if (!declaration.encodings.empty() && Lacks(declaration.encodings, encoding)) {
    return absl::FailedPreconditionError(
        fmt::format("this run takes updates as {}, which the node cannot send",
                    parameters::UpdateEncodingName(encoding)));
  }
  if (secure && !declaration.secure_aggregation) {
    return absl::FailedPreconditionError("this run masks updates, which the node cannot");
  }
  if (declaration.partial_sums && !config.WhyNoPartialSums().empty()) {
    return absl::FailedPreconditionError(
        fmt::format("this run takes no partial sums: {}", config.WhyNoPartialSums()));
  }
  return absl::OkStatus();
}

}  // namespace tributary::learning
