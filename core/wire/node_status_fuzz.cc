// Any bytes as the status of a node: what the aggregator keeps is bounded, and bounding it again changes
// nothing.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "core/wire/node_status.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckText(const std::string& text) {
  Require(text.size() <= tributary::wire::kMostStatusText);
  Require(std::ranges::none_of(text, [](unsigned char c) { return absl::ascii_iscntrl(c); }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary;
  v1::NodeStatus said;
  if (!said.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  const v1::NodeStatus kept = wire::BoundedStatus(said);
  for (const std::string& text : {kept.version(), kept.xclbin_uuid(), kept.last_error()}) CheckText(text);
  Require(kept.problems_size() <= static_cast<int>(wire::kMostProblems));
  for (const std::string& problem : kept.problems()) CheckText(problem);
  Require(kept.sensors_size() <= static_cast<int>(wire::kMostSensors));
  for (const v1::Sensor& sensor : kept.sensors()) {
    CheckText(sensor.name());
    Require(std::isfinite(sensor.value()) && v1::SensorKind_IsValid(sensor.kind()));
  }
  Require(kept.checks_size() <= static_cast<int>(wire::kMostChecks));
  for (const v1::NodeCheck& check : kept.checks()) {
    for (const std::string& text : {check.check(), check.found(), check.remedy()}) CheckText(text);
    Require(v1::CheckFinding_IsValid(check.finding()));
  }
  Require(wire::BoundedStatus(kept).SerializeAsString() == kept.SerializeAsString());
  return 0;
}
