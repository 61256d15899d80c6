// A daemon's metrics, and the names of metrics in prose.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::testing {

struct ExposedMetric {
  std::string type;  // "counter", "gauge", "histogram"
  std::string help;
  std::map<std::string, std::set<std::string>> labels;  // key: the values seen; without a histogram's "le"
};

// By name.
using Exposition = std::map<std::string, ExposedMetric>;

// Reads the text format, version 0.0.4. Appends a line to `faults` for each repeated series: a scraper then
// refuses the whole page.
Exposition ParseExposition(std::string_view text, std::vector<std::string>& faults);

// A name as a document gives it: "tributary_x_{a,b}_total{reason}" is two of them.
struct NamedMetric {
  std::string name;  // ends in '_' where the document has a prefix only ("tributary_run_random_…")
  std::vector<std::string> labels;
};
std::vector<NamedMetric> FindMetricNames(std::string_view text);

}  // namespace tributary::testing
