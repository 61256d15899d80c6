#include "cli/watch/node_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_join.h"
#include "cli/table.h"
#include "core/runtime/elapsed.h"

namespace tributary::cli {

std::string NodesText(const v1::ListNodesResponse& response, std::int64_t now_unix_ns) {
  Table table({Left("SITE"), Left("NODE"), Left("STATE"), Right("LAST FRAME"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Left("MODEL"), Left("SOURCES")});
  for (const v1::Node& node : response.nodes()) {
    if (node.site().empty()) continue;  // it only learns: LearnersText
    const double age_s = runtime::ElapsedSeconds(node.last_frame_unix_ns(), now_unix_ns);
    const std::string last = node.last_frame_unix_ns() == 0 ? "never" : fmt::format("{:.1f} s ago", age_s);
    table.Add(node.site(), node.name(), node.connected() ? "connected" : "away", last, node.accepted_frames(),
              node.refused_frames(), node.dropped_frames(), node.model_name() + " " + node.model_version(),
              absl::StrJoin(node.sources(), ", "));
  }
  return table.Text();
}

namespace {

// The largest value of that kind, or nothing.
std::string Largest(const v1::NodeStatus& status, v1::SensorKind kind, const char* unit) {
  std::optional<double> largest;
  for (const v1::Sensor& sensor : status.sensors()) {
    if (sensor.kind() == kind) largest = std::max(largest.value_or(sensor.value()), sensor.value());
  }
  return largest ? fmt::format("{:.1f} {}", *largest, unit) : "-";
}

// Why it cannot do what it is asked to, then what its checks found.
std::string ProblemsText(const v1::NodeStatus& status) {
  std::vector<std::string> problems(status.problems().begin(), status.problems().end());
  for (const v1::NodeCheck& check : status.checks()) {
    if (check.finding() != v1::CHECK_FINDING_WARNING && check.finding() != v1::CHECK_FINDING_FAULT) continue;
    problems.push_back(fmt::format("{}: {}", check.check(), check.found()));
  }
  return problems.empty() ? "-" : absl::StrJoin(problems, "; ");
}

std::string SpanText(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * 86'400) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86'400);
}

}  // namespace

std::string ConditionsText(const v1::ListNodesResponse& response, std::int64_t now_unix_ns) {
  Table table({Left("NODE"), Left("VERSION"), Right("UP"), Right("HELD"), Right("HOTTEST"), Right("POWER"),
               Right("CERTIFICATE"), Left("PROBLEM"), Left("LAST ERROR")});
  for (const v1::Node& node : response.nodes()) {
    if (!node.has_status()) continue;
    const v1::NodeStatus& status = node.status();
    const double left_s = runtime::ElapsedSeconds(now_unix_ns, node.certificate_expires_unix_ns());
    table.Add(node.name(), status.version(),
              SpanText(runtime::ElapsedSeconds(status.started_unix_ns(), now_unix_ns)), status.held_frames(),
              Largest(status, v1::SENSOR_KIND_TEMPERATURE, "C"), Largest(status, v1::SENSOR_KIND_POWER, "W"),
              node.certificate_expires_unix_ns() == 0 ? "-" : SpanText(left_s), ProblemsText(status),
              status.last_error().empty() ? "-" : status.last_error());
  }
  return table.empty() ? "" : "\n" + table.Text();
}

std::string LearnersText(const v1::ListNodesResponse& response) {
  Table table({Left("NODE"), Left("LEARNS IN"), Left("STATE"), Right("LAST ROUND"), Right("ACCEPTED"),
               Right("REFUSED"), Right("DROPPED"), Left("LAST REFUSAL")});
  for (const v1::Node& node : response.nodes()) {
    for (const v1::Learning& learning : node.learns()) {
      table.Add(node.name(), learning.run().empty() ? "waits for one" : learning.run(),
                learning.connected() ? "connected" : "away", learning.last_round(),
                learning.accepted_updates(), learning.refused_updates(), learning.dropped_rounds(),
                learning.last_refusal());
    }
  }
  return table.empty() ? "" : "\n" + table.Text();
}

}  // namespace tributary::cli
