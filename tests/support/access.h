// An aggregator with TLS whose certificates have one role each, for tests of who may do what.
#pragma once

#include <stdexcept>
#include <string>

#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/learners.h"

namespace tributary::testing {

// The site "room" of the leaves south, which belongs to the node of its name, and east, which "board" owns.
inline constexpr const char* kRoles =
    "[access]\noperators = [\"laptop\"]\nviewers = [\"wall\"]\nnodes = [\"learner\", \"thief\"]\n"
    "children = [\"hall\"]\nrefused = [\"thief\"]\n";
inline constexpr const char* kOwners = "[[site.owner]]\nnode = \"board\"\nsources = [\"east\"]\n";

class GuardedAggregator {
 public:
  explicit GuardedAggregator(const ScratchFolder& folder) : folder_(folder) {}

  bool Start() {
    aggregator_.Start();
    return aggregator_.Ready();
  }
  // Replaces text in the configuration and tells the aggregator.
  void Change(const std::string& from, const std::string& to) {
    const std::string path = "aggregator.toml";
    std::string config = ReadText(folder_.Path(path));
    const std::size_t at = config.find(from);
    if (at == std::string::npos) throw std::runtime_error("the configuration has no " + from);
    folder_.Write(path, config.replace(at, from.size(), to));
    aggregator_.process().Signal(SIGHUP);
  }

  const Certificates& certificates() const { return certificates_; }
  AggregatorProcess& aggregator() { return aggregator_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(aggregator_.ingest_port()); }

 private:
  const ScratchFolder& folder_;
  const Certificates certificates_{
      folder_,
      "certs",
      {"aggregator", "south", "board", "learner", "hall", "wall", "laptop", "thief", "stranger"}};
  AggregatorProcess aggregator_{folder_,
                                "aggregator",
                                {"south", "east"},
                                FederationKeys(folder_) + certificates_.Table("aggregator") + kRoles,
                                kOwners};
};

}  // namespace tributary::testing
