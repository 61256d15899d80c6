#include "node/self_report.h"

#include <optional>
#include <utility>

#include "core/runtime/log.h"
#include "core/runtime/machine_sensors.h"
#include "core/runtime/version.h"

namespace tributary::node {

v1::NodeStatus SelfReport(const NodeCondition& condition, const std::string& sensors) {
  v1::NodeStatus status;
  status.set_version(runtime::kVersion);
  status.set_started_unix_ns(condition.started_unix_ns);
  status.set_xclbin_uuid(condition.xclbin_uuid);
  for (runtime::SensorReading& reading : runtime::ReadMachineSensors(sensors)) {
    v1::Sensor& sensor = *status.add_sensors();
    sensor.set_name(std::move(reading.name));
    sensor.set_kind(reading.kind == runtime::SensorReading::Kind::kPower ? v1::SENSOR_KIND_POWER
                                                                         : v1::SENSOR_KIND_TEMPERATURE);
    sensor.set_value(reading.value);
  }
  if (const std::optional<runtime::LoggedError> error = runtime::LatestError()) {
    status.set_last_error(error->text);
    status.set_last_error_unix_ns(error->unix_ns);
  }
  for (const std::string& problem : condition.problems) status.add_problems(problem);
  return status;
}

}  // namespace tributary::node
