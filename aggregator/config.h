// What tributary-aggregator reads from its configuration file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregator/access/access_policy.h"
#include "aggregator/access/http_access.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/learning/judge/evaluation_images.h"
#include "aggregator/publish/site.h"
#include "aggregator/server/connection_table.h"
#include "core/config/config.h"
#include "core/config/tls.h"

namespace tributary::aggregator {

struct SiteSettings {
  fusion::SiteConfig fusion;
  std::string model_sha256;  // 32 bytes: nodes that run another model are refused; empty: any model
  std::vector<access::SourceOwner> owners;
  publish::SiteAccount account;
  std::string calibration_file;  // keeps what the sources learn of each other; empty: none
};

// An aggregator for which this process is a node: fused tuples go there.
struct ParentSettings {
  std::string aggregator;  // "host:port"
  std::string node;        // the name of this process as a node there, and as a source
};

// The aggregator in whose runs this one takes part, with the sums of its own nodes' updates.
struct FederationParentSettings : ParentSettings {
  std::string run;            // empty: the run that is active, or the next
  std::size_t min_nodes = 2;  // of its own, before it takes part
};

// Federated learning.
struct FederationSettings {
  std::string store;                                    // folder; made if its parent exists
  std::uint32_t keep_models = 0;                        // of each run, the newest and the initial one; 0: all
  std::size_t max_model_bytes = std::size_t{16} << 20;  // of all models that operators are sending
  std::size_t max_runs = 100;                           // that have not ended
  std::optional<learning::EvaluationFiles> evaluation;
  std::optional<FederationParentSettings> parent;
};

// The files of [access]. Empty: none.
struct AccessFiles {
  std::string tokens;
  std::string audit_log;
  std::string authority;  // folder of `tributary certs`: boards join and renew here
  std::int64_t certificate_lifetime_s = std::int64_t{90} * 86'400;  // of those that it gives
};

struct AggregatorConfig {
  std::string listen = "127.0.0.1:7400";
  bool insecure = false;  // gRPC may leave the loopback without TLS
  std::string log_level = "info";
  std::optional<config::TlsFiles> tls;
  access::AccessLists access;
  AccessFiles access_files;
  std::size_t ingest_threads = 1;
  std::size_t max_message_bytes = std::size_t{1} << 20;
  server::ConnectionLimits connections;
  std::uint64_t memory_bytes = 0;  // 0: MemoryMax of the unit, or the machine's
  std::string http_listen;         // empty: no HTTP
  bool http_tls = false;           // HTTPS by the certificate of [tls]
  access::HttpAccess::Anonymous http_anonymous = access::HttpAccess::Anonymous::kViewer;
  std::vector<SiteSettings> sites;
  std::optional<ParentSettings> parent;
  std::optional<FederationSettings> federation;
};

// Resolves relative paths of files against the folder of `file`. Records its faults in `file`, whose Finish()
// tells them.
AggregatorConfig ReadAggregatorConfig(const config::ConfigFile& file);

// A server; with a parent also a client.
config::TlsUses TlsUsesOf(const AggregatorConfig& config);

// Who may do what; holds where TLS is on. `started`: as the sites were at the start, because a reload changes
// their owners and not their sources.
access::AccessPolicy PolicyOf(const AggregatorConfig& config, const AggregatorConfig& started);

}  // namespace tributary::aggregator
