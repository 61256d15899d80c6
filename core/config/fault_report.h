// What is wrong with a configuration, in the order of its file.
#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace tributary::config {

// A value. A run file comes from a peer, and one of 64 kB has room for 30,000 faults: the first kMaxFaults
// that are found are kept and told, and the rest is counted.
class FaultReport {
 public:
  static constexpr std::size_t kMaxFaults = 1000;

  explicit FaultReport(std::string_view path) : path_(path) {}

  void Add(const toml::source_region& place, std::string_view key, std::string_view what);

  // Whether a fault is at the key or below it.
  bool Has(std::string_view key) const;

  // InvalidArgument with a line for each fault.
  absl::Status Result() const;

 private:
  struct Fault {
    std::string key;
    std::string line;  // as it is reported
  };

  std::string path_;
  std::multimap<std::pair<unsigned, unsigned>, Fault> faults_;  // by line and column
  std::size_t more_ = 0;
};

}  // namespace tributary::config
