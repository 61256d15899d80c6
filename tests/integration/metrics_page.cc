#include "tests/integration/metrics_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <sstream>
#include <vector>

namespace tributary::testing {
namespace {

constexpr std::string_view kIntroduction = R"(# Metrics

Both daemons export these at `/metrics`, in Prometheus' text format. The page is made from running daemons and a test holds it to them. After a
change of a metric, write it again:

```sh
TRIBUTARY_WRITE_DOCS=1 build/release/bin/integration_test --gtest_filter=MetricsPageTest.*
```

A counter starts at 0 with its process. *When* says which part of the configuration makes the daemon export the metric; an empty cell: always.
)";

// Labels whose values are a fixed list, which belongs on the page.
const std::set<std::string> kListed = {"reason", "outcome", "end"};

std::string Unit(const std::string& name, const std::string& type) {
  for (const char* unit : {"seconds", "bytes"}) {
    if (name.ends_with(std::string("_") + unit) || name.ends_with(std::string("_") + unit + "_total"))
      return unit;
  }
  return type == "counter" ? "count" : "";
}

// A run exports these only after an event.
std::string AfterWhat(const std::string& name) {
  static const std::map<std::string, std::vector<std::string>> kAfter = {
      {"after its first committed round", {"loss", "spread", "round_seconds"}},
      {"after its first evaluated round",
       {"linear_probe", "knn", "test_spread", "random_linear_probe", "random_knn", "random_test_spread"}},
      {"with `privacy.noise_multiplier`", {"epsilon"}}};
  for (const auto& [what, names] : kAfter) {
    for (const std::string& each : names) {
      if (name == "tributary_run_" + each) return "each run, " + what;
    }
  }
  return "each run";
}

}  // namespace

void MetricsPage::Add(const std::string& program, const std::string& daemon, const Features& features,
                      const Exposition& exposition) {
  daemons_[daemon] = {program, features};
  for (const auto& [name, exposed] : exposition) {
    PageMetric& metric = metrics_[program][name];
    metric.exposed.type = exposed.type;
    metric.exposed.help = exposed.help;
    for (const auto& [key, values] : exposed.labels)
      metric.exposed.labels[key].insert(values.begin(), values.end());
    metric.daemons.insert(daemon);
  }
}

// The features common to all daemons that export it, without those of the daemons that do not.
std::string MetricsPage::When(const std::string& program, const std::string& name,
                              const PageMetric& metric) const {
  if (metric.exposed.labels.contains("run")) return AfterWhat(name);
  if (metric.exposed.labels.contains("source")) return "each source that has reported";
  std::optional<Features> shared;
  Features of_others;
  bool everywhere = true;
  for (const auto& [daemon, facts] : daemons_) {
    if (facts.program != program) continue;
    if (!metric.daemons.contains(daemon)) {
      everywhere = false;
      of_others.insert(facts.features.begin(), facts.features.end());
    } else if (!shared) {
      shared = facts.features;
    } else {
      std::erase_if(*shared, [&](const std::string& feature) { return !facts.features.contains(feature); });
    }
  }
  if (everywhere || !shared) return "";
  std::erase_if(*shared, [&](const std::string& feature) { return of_others.contains(feature); });
  return fmt::format("`{}`", fmt::join(*shared, "`, `"));
}

std::string MetricsPage::Text() const {
  std::string text(kIntroduction);
  for (const auto& [program, metrics] : metrics_) {
    text += fmt::format(
        "\n## tributary-{}\n\n| name | type | unit | labels | when | what |\n|---|---|---|---|---|---|\n",
        program);
    for (const auto& [name, metric] : metrics) {
      std::vector<std::string> labels;
      for (const auto& [key, values] : metric.exposed.labels) labels.push_back("`" + key + "`");
      text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", name, metric.exposed.type,
                          Unit(name, metric.exposed.type), fmt::join(labels, ", "),
                          When(program, name, metric), metric.exposed.help);
    }
  }
  text += "\n## Values of labels\n\n| name | label | values |\n|---|---|---|\n";
  std::map<std::string, std::string> listed;  // by name and label: one entry serves both programs
  for (const auto& [program, metrics] : metrics_) {
    for (const auto& [name, metric] : metrics) {
      for (const auto& [key, values] : metric.exposed.labels) {
        if (kListed.contains(key))
          listed[fmt::format("| `{}` | `{}` |", name, key)] = fmt::format("{}", fmt::join(values, ", "));
      }
    }
  }
  for (const auto& [start, values] : listed) text += fmt::format("{} {} |\n", start, values);
  return text;
}

std::map<std::string, std::set<std::string>> ReadMetricsPage(std::string_view page) {
  std::map<std::string, std::set<std::string>> metrics;
  std::stringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line) && line != "## Values of labels";) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::stringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    const auto quoted = [](const std::string& cell) {
      std::set<std::string> words;
      for (std::size_t open = cell.find('`'); open != std::string::npos;) {
        const std::size_t close = cell.find('`', open + 1);
        words.insert(cell.substr(open + 1, close - open - 1));
        open = cell.find('`', close + 1);
      }
      return words;
    };
    const std::set<std::string> labels = quoted(cells.at(3));
    metrics[*quoted(cells.at(0)).begin()].insert(labels.begin(), labels.end());
  }
  return metrics;
}

}  // namespace tributary::testing
