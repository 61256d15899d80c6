#include "core/wire/node_status.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "core/runtime/printable.h"

namespace tributary::wire {
namespace {

std::string Shown(std::string_view text) {
  std::string shown = runtime::Printable(text.substr(0, kMostStatusText));
  for (char& c : shown) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  if (shown.size() <= kMostStatusText) return shown;
  std::size_t end = kMostStatusText;
  // Not inside of a character.
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0) == 0x80) --end;
  return shown.substr(0, end);
}

}  // namespace

v1::NodeStatus BoundedStatus(const v1::NodeStatus& said) {
  v1::NodeStatus status;
  status.set_version(Shown(said.version()));
  status.set_started_unix_ns(said.started_unix_ns());
  status.set_offered_frames(std::min(said.offered_frames(), kMostStatusCount));
  status.set_held_frames(std::min(said.held_frames(), kMostStatusCount));
  status.set_held_bytes(std::min(said.held_bytes(), kMostStatusCount));
  status.set_xclbin_uuid(Shown(said.xclbin_uuid()));
  for (const v1::Sensor& sensor : said.sensors()) {
    if (static_cast<std::size_t>(status.sensors_size()) == kMostSensors) break;
    if (!std::isfinite(sensor.value())) continue;
    v1::Sensor& kept = *status.add_sensors();
    kept.set_name(Shown(sensor.name()));
    kept.set_kind(v1::SensorKind_IsValid(sensor.kind()) ? sensor.kind() : v1::SENSOR_KIND_UNSPECIFIED);
    kept.set_value(sensor.value());
  }
  status.set_last_error(Shown(said.last_error()));
  status.set_last_error_unix_ns(said.last_error_unix_ns());
  for (const std::string& problem : said.problems()) {
    if (static_cast<std::size_t>(status.problems_size()) == kMostProblems) break;
    status.add_problems(Shown(problem));
  }
  for (const v1::NodeCheck& check : said.checks()) {
    if (static_cast<std::size_t>(status.checks_size()) == kMostChecks) break;
    v1::NodeCheck& kept = *status.add_checks();
    kept.set_check(Shown(check.check()));
    kept.set_finding(v1::CheckFinding_IsValid(check.finding()) ? check.finding()
                                                               : v1::CHECK_FINDING_UNSPECIFIED);
    kept.set_found(Shown(check.found()));
    kept.set_remedy(Shown(check.remedy()));
  }
  status.set_checked_unix_ns(said.checked_unix_ns());
  return status;
}

}  // namespace tributary::wire
