// docs/metrics.md: written from the metrics of running daemons, and read back.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/exposition.h"

namespace tributary::testing {

// A configured feature of one daemon of the constellation: "[fusion]" …
using Features = std::set<std::string>;

// One metric of one program.
struct PageMetric {
  ExposedMetric exposed;
  std::set<std::string> daemons;  // that export it
};

class MetricsPage {
 public:
  void Add(const std::string& program, const std::string& daemon, const Features& features,
           const Exposition& exposition);

  std::string Text() const;

 private:
  struct Daemon {
    std::string program;
    Features features;
  };
  std::string When(const std::string& program, const std::string& name, const PageMetric& metric) const;

  std::map<std::string, Daemon> daemons_;
  std::map<std::string, std::map<std::string, PageMetric>> metrics_;  // by program and name
};

// The metrics of a page: name and keys of labels.
std::map<std::string, std::set<std::string>> ReadMetricsPage(std::string_view page);

}  // namespace tributary::testing
