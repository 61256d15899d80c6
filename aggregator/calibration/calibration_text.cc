#include "aggregator/calibration/calibration_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/config/toml_text.h"
#include "core/parameters/crc32c.h"
#include "core/status/macros.h"

namespace tributary::calibration {
namespace {

using estimate::LearntCalibration;

constexpr std::int64_t kFormat = 1;
// No row of a look is beyond: kMaxLeaves sources with 65,536 subjects each.
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostLooks = 1'000;
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

// The shortest text that is read as the same number; never one of an integer.
std::string Number(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string Pair(const estimate::Vector<2>& vector) {
  return fmt::format("[{}, {}]", Number(vector[0]), Number(vector[1]));
}

std::string Array(std::string_view key, const std::vector<double>& numbers) {
  std::string text = fmt::format("{} = [\n", key);
  for (const double number : numbers) text += fmt::format("  {},\n", Number(number));
  return text + "]\n";
}

std::string SourceText(const std::string& name, const LearntCalibration::Source& source) {
  const estimate::Correction& correction = source.state.correction;
  std::string text = fmt::format("\n[[source]]\nname = {}\n", config::QuotedToml(name));
  const auto pair = [&](std::string_view key, const estimate::Vector<2>& value) {
    text += fmt::format("{} = {}\n", key, Pair(value));
  };
  const auto number = [&](std::string_view key, double value) {
    text += fmt::format("{} = {}\n", key, Number(value));
  };
  pair("place_m", correction.place);
  pair("shift_m", correction.shift);
  pair("shift_deviation_m", source.state.shift_deviation);
  number("turn_rad", correction.turn);
  number("turn_deviation_rad", source.state.turn_deviation);
  number("scale", correction.scale);
  number("agreed_scale", source.agreed);
  number("squares", source.squares);
  number("redundancy", source.redundancy);
  number("expected", source.expected);
  number("observations", source.observations);
  number("solved_observations", source.state.observations);
  return text;
}

// Row by row, up to the diagonal.
std::vector<double> LowerTriangle(const Eigen::MatrixXd& matrix) {
  std::vector<double> triangle;
  for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
    for (Eigen::Index column = 0; column <= row; ++column) triangle.push_back(matrix(row, column));
  }
  return triangle;
}

// The keys of one table. Every key is required.
class Table {
 public:
  explicit Table(const config::ConfigSection& section) : section_(section) {}

  void Number(std::string_view key, double& value) const {
    section_.Read(key, value, config::RealLimits(), config::Required(""));
  }
  void Integer(std::string_view key, std::int64_t& value, std::int64_t most) const {
    section_.Read(key, value, config::IntegerLimits{0, most}, config::Required(""));
  }
  // Exactly `count` numbers; the zeros are there also if the file has another count.
  std::vector<double> Numbers(std::string_view key, std::size_t count) const {
    std::vector<double> values;
    section_.Read(key, values);
    if (values.size() != count) {
      section_.Fault(key, fmt::format("expected {} numbers, found {}", count, values.size()));
    }
    values.resize(count);
    return values;
  }
  void Pair(std::string_view key, estimate::Vector<2>& vector) const {
    const std::vector<double> values = Numbers(key, 2);
    vector = {values[0], values[1]};
  }

 private:
  const config::ConfigSection& section_;
};

LearntCalibration::Source ReadSource(const config::ConfigSection& section, std::string& name) {
  LearntCalibration::Source source;
  estimate::Correction& correction = source.state.correction;
  section.ReadName("name", name);
  const Table table(section);
  table.Pair("place_m", correction.place);
  table.Pair("shift_m", correction.shift);
  table.Pair("shift_deviation_m", source.state.shift_deviation);
  table.Number("turn_rad", correction.turn);
  table.Number("turn_deviation_rad", source.state.turn_deviation);
  table.Number("scale", correction.scale);
  table.Number("agreed_scale", source.agreed);
  table.Number("squares", source.squares);
  table.Number("redundancy", source.redundancy);
  table.Number("expected", source.expected);
  table.Number("observations", source.observations);
  table.Number("solved_observations", source.state.observations);
  return source;
}

void ReadSums(const Table& table, std::size_t sources, LearntCalibration& learnt) {
  const std::size_t unknowns = LearntCalibration::kUnknowns * sources;
  const std::vector<double> triangle = table.Numbers("normal", unknowns * (unknowns + 1) / 2);
  const std::vector<double> rhs = table.Numbers("rhs", unknowns);
  const auto count = static_cast<Eigen::Index>(unknowns);
  learnt.normal = Eigen::MatrixXd::Zero(count, count);
  auto next = triangle.begin();
  for (Eigen::Index row = 0; row < count; ++row) {
    for (Eigen::Index column = 0; column <= row; ++column) learnt.normal(row, column) = *next++;
  }
  learnt.rhs = Eigen::Map<const Eigen::VectorXd>(rhs.data(), count);
}

absl::Status CheckSum(std::string_view text, std::string_view path) {
  const std::size_t end = text.find('\n');
  if (end != std::string_view::npos && text == WithChecksum(text.substr(end + 1))) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("{}:1: crc32c: is not that of what follows: the file is damaged or was changed", path));
}

}  // namespace

std::string WithChecksum(std::string_view body) {
  return fmt::format("{}{:08x}\"\n{}", kFirstWords, parameters::Crc32c(body), body);
}

std::string EncodeCalibration(const fusion::CalibrationRecord& record) {
  const Eigen::VectorXd& rhs = record.learnt.rhs;
  std::string body = fmt::format(
      "# What the sources of a site say of each other, kept by tributary-aggregator for its next start.\n"
      "format = {}\nsite = {}\nshift_m = {}\nturn_deg = {}\nlooked_unix_ns = {}\nlooks = {}\nnext_row = {}\n",
      kFormat, config::QuotedToml(record.site), Number(record.prior.shift_m), Number(record.prior.turn_deg),
      record.looked_unix_ns, record.looks, record.next_row);
  body += Array("normal", LowerTriangle(record.learnt.normal));
  body += Array("rhs", {rhs.data(), rhs.data() + rhs.size()});
  for (std::size_t i = 0; i < record.sources.size(); ++i) {
    body += SourceText(record.sources[i], record.learnt.sources[i]);
  }
  return WithChecksum(body);
}

absl::StatusOr<fusion::CalibrationRecord> DecodeCalibration(std::string_view text, std::string_view path) {
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(fmt::format("{}: larger than the {} bytes allowed", path, kMostBytes));
  }
  RETURN_IF_ERROR(CheckSum(text, path));
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Parse(text, path));
  const config::ConfigSection root = file.Root();
  const Table table(root);
  std::int64_t format = 0, looks = 0, next_row = 0;
  table.Integer("format", format, kLatest);
  if (!file.HasFault("format") && format != kFormat) {
    return absl::FailedPreconditionError(
        fmt::format("{}: format: is {}, this release reads {}", path, format, kFormat));
  }
  const std::vector<config::ConfigSection> sections = root.List("source");
  if (sections.size() > estimate::SourceCalibration::kMostSources) {
    return absl::InvalidArgumentError(fmt::format("{}: source: expected at most {} sources, found {}", path,
                                                  estimate::SourceCalibration::kMostSources,
                                                  sections.size()));
  }
  fusion::CalibrationRecord record;
  std::string checksum;
  root.Read("crc32c", checksum);
  root.ReadName("site", record.site);
  table.Number("shift_m", record.prior.shift_m);
  table.Number("turn_deg", record.prior.turn_deg);
  table.Integer("looked_unix_ns", record.looked_unix_ns, kLatest);
  table.Integer("looks", looks, kMostLooks);
  table.Integer("next_row", next_row, kMostRows);
  ReadSums(table, sections.size(), record.learnt);
  for (const config::ConfigSection& section : sections) {
    record.learnt.sources.push_back(ReadSource(section, record.sources.emplace_back()));
  }
  RETURN_IF_ERROR(file.Finish());
  record.looks = static_cast<int>(looks);
  record.next_row = static_cast<std::size_t>(next_row);
  return record;
}

}  // namespace tributary::calibration
