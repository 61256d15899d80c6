// What a node says of itself to its aggregator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/v1/fusion.pb.h"

namespace tributary::node {

// The parts that change; without what the uplink knows.
struct NodeCondition {
  std::int64_t started_unix_ns = 0;
  std::string xclbin_uuid;
  std::vector<std::string> problems;
};

// Adds the program's version, the machine's sensors below `sensors` and the latest error in the log. Reads
// files: not for a panel's thread.
v1::NodeStatus SelfReport(const NodeCondition& condition, const std::string& sensors = "/sys/class/hwmon");

}  // namespace tributary::node
