#include "core/runtime/machine_sensors.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/runtime/file.h"

namespace tributary::runtime {
namespace {

// A page is the most that a file of sysfs has; these have a line.
constexpr std::size_t kMostBytes = 4096;
// A machine has some ten; whoever mounts another folder there does not choose how long this takes.
constexpr std::size_t kMostFiles = 4096;

std::optional<std::string> LineOf(const std::filesystem::path& file) {
  const absl::StatusOr<std::string> text = ReadFile(file.string(), kMostBytes);
  if (!text.ok()) return std::nullopt;
  return std::string(absl::StripAsciiWhitespace(text->substr(0, text->find('\n'))));
}

std::vector<std::filesystem::path> Sorted(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (auto each = std::filesystem::directory_iterator(folder, error);
       !error && each != std::filesystem::directory_iterator() && files.size() < kMostFiles;
       each.increment(error)) {
    files.push_back(each->path());
  }
  std::ranges::sort(files);
  return files;
}

// What a file such as temp1_input measures, and its unit in °C or W; nothing for other files.
struct Measure {
  SensorReading::Kind kind;
  double unit;
};
std::optional<Measure> MeasureOf(absl::string_view file) {
  if (absl::StartsWith(file, "temp") && absl::EndsWith(file, "_input")) {
    return Measure{SensorReading::Kind::kTemperature, 1e-3};
  }
  if (absl::StartsWith(file, "power") &&
      (absl::EndsWith(file, "_input") || absl::EndsWith(file, "_average"))) {
    return Measure{SensorReading::Kind::kPower, 1e-6};
  }
  return std::nullopt;
}

}  // namespace

std::vector<SensorReading> ReadMachineSensors(const std::string& folder) {
  std::vector<SensorReading> readings;
  for (const std::filesystem::path& chip : Sorted(folder)) {
    const std::string chip_name = LineOf(chip / "name").value_or(chip.filename().string());
    for (const std::filesystem::path& file : Sorted(chip)) {
      if (readings.size() == kMostSensorReadings) return readings;
      const std::string name = file.filename().string();
      const std::optional<Measure> measure = MeasureOf(name);
      if (!measure) continue;
      const std::optional<std::string> text = LineOf(file);
      std::int64_t value = 0;
      if (!text || !absl::SimpleAtoi(*text, &value)) continue;
      const std::string sensor = name.substr(0, name.find('_'));
      const std::string label = LineOf(chip / absl::StrCat(sensor, "_label")).value_or(sensor);
      readings.push_back(
          {absl::StrCat(chip_name, " ", label), measure->kind, measure->unit * static_cast<double>(value)});
    }
  }
  return readings;
}

}  // namespace tributary::runtime
