// What tributary-aggregator reads from its configuration file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/learning/judge/evaluation_images.h"
#include "core/config/config.h"
#include "core/config/tls.h"

namespace tributary::aggregator {

struct SiteSettings {
  fusion::SiteConfig fusion;
  std::string model_sha256;  // 32 bytes: nodes that run another model are refused; empty: any model
};

// The aggregator to which fused tuples are shipped, as if this process were a node.
struct ParentSettings {
  std::string aggregator;  // "host:port"
  std::string node;        // the name of this process as node and as source there

  bool operator==(const ParentSettings&) const = default;
};

// The aggregator in whose runs this one takes part, with the sums of its own nodes' updates.
struct FederationParentSettings {
  std::string aggregator;     // "host:port"
  std::string node;           // the name of this process as a node there
  std::string run;            // empty: the run that is active, or the next
  std::size_t min_nodes = 2;  // of its own, before it takes part

  bool operator==(const FederationParentSettings&) const = default;
};

// Federated learning.
struct FederationSettings {
  std::string store;              // folder; made if its parent exists
  std::uint32_t keep_models = 0;  // of each run, the newest and the initial one; 0: all
  std::optional<learning::EvaluationFiles> evaluation;
  std::optional<FederationParentSettings> parent;

  bool operator==(const FederationSettings&) const = default;
};

struct AggregatorConfig {
  std::string listen;
  bool insecure = false;  // gRPC may leave the loopback without TLS
  std::string log_level;
  std::optional<config::TlsFiles> tls;
  std::size_t ingest_threads = 1;
  std::size_t max_message_bytes = std::size_t{1} << 20;
  std::string http_listen;  // empty: no HTTP
  std::vector<SiteSettings> sites;
  std::optional<ParentSettings> parent;
  std::optional<FederationSettings> federation;
};

// Records its faults in `file`, whose Finish() tells them.
AggregatorConfig ReadAggregatorConfig(const config::ConfigFile& file);

// Relative paths of files are resolved against the folder of `path`. Errors: InvalidArgument with one line
// per fault.
absl::StatusOr<AggregatorConfig> ParseAggregatorConfig(std::string_view text, std::string_view path);

}  // namespace tributary::aggregator
