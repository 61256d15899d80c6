// Temperatures and powers of the machine, as Linux shows them below /sys/class/hwmon.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tributary::runtime {

struct SensorReading {
  enum class Kind { kTemperature, kPower };

  std::string name;  // the chip's and the sensor's, such as "coretemp Package id 0"
  Kind kind = Kind::kTemperature;
  double value = 0;  // °C or W
};

// At most this many, in the order of chips and sensors.
inline constexpr std::size_t kMostSensorReadings = 32;

// Those that can be read now; some drivers take milliseconds for one. Nothing where the folder is absent, as
// in a container.
std::vector<SensorReading> ReadMachineSensors(const std::string& folder = "/sys/class/hwmon");

}  // namespace tributary::runtime
