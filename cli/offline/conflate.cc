#include "cli/offline/conflate.h"

#include <sysexits.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "core/estimate/conflation.h"
#include "core/estimate/covariance_intersection.h"
#include "core/estimate/gaussian.h"
#include "core/estimate/tuple_frame.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::cli {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kErrorPrefix = "tributary conflate: ";  // as every command has it
using Method = ConflateOptions::Method;

// One Gaussian estimate:
// {"site":"a","epoch":"1","subject":1,"source":"p1","mean":[x,y],"scale_tril":[l11,l21,l22]}
struct EstimateLine {
  std::string site;
  std::uint64_t epoch = 0;
  std::uint32_t subject = 0;
  std::string source;
  std::vector<double> mean;        // [d], m; d is 1, 2 or 3
  std::vector<double> scale_tril;  // [d(d+1)/2], m: rows of the lower Cholesky factor
};

absl::Status Fault(const char* field, const std::string& must) {
  return absl::InvalidArgumentError(absl::StrCat("field '", field, "' ", must));
}

absl::Status ReadField(const Json& value, const char* field, std::string& to) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    return Fault(field, "must be a string that is not empty");
  }
  to = value.get<std::string>();
  return absl::OkStatus();
}

// As protobuf's JSON mapping reads it: a number, or its decimal digits as a string.
std::optional<std::uint64_t> ToInteger(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  const std::string& digits = value.get_ref<const std::string&>();
  std::uint64_t integer = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), integer);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return integer;
}

template <std::unsigned_integral T>
absl::Status ReadField(const Json& value, const char* field, T& to) {
  constexpr T kLargest = std::numeric_limits<T>::max();
  const std::optional<std::uint64_t> integer = ToInteger(value);
  if (!integer || *integer > kLargest) {
    return Fault(field, absl::StrCat("must be an integer from 0 to ", kLargest));
  }
  to = static_cast<T>(*integer);
  return absl::OkStatus();
}

absl::Status ReadField(const Json& value, const char* field, std::vector<double>& to) {
  if (!value.is_array()) return Fault(field, "must be an array of numbers");
  for (const Json& element : value) {
    if (!element.is_number() || !std::isfinite(element.get<double>())) {
      return Fault(field, absl::StrCat("element ", to.size(), " must be a finite number"));
    }
    to.push_back(element.get<double>());
  }
  return absl::OkStatus();
}

template <class T>
absl::Status Read(const Json& object, const char* field, T& to) {
  const auto found = object.find(field);
  return found == object.end() ? Fault(field, "is missing") : ReadField(*found, field, to);
}

absl::Status CheckShape(const EstimateLine& line) {
  const std::size_t dimension = line.mean.size();
  if (dimension < 1 || dimension > 3) {
    return Fault("mean", absl::StrCat("has ", dimension, " elements, must have 1, 2 or 3"));
  }
  if (line.scale_tril.size() != estimate::TriangleSize(dimension)) {
    return Fault("scale_tril",
                 absl::StrCat("has ", line.scale_tril.size(), " elements, must have ",
                              estimate::TriangleSize(dimension), " for ", dimension, " dimensions"));
  }
  for (std::size_t row = 0; row < dimension; ++row) {
    const std::size_t diagonal = estimate::TriangleSize(row + 1) - 1;
    if (!(line.scale_tril[diagonal] > 0)) {
      return Fault("scale_tril", absl::StrCat("element ", diagonal, " is ", line.scale_tril[diagonal],
                                              ", must be positive on the diagonal"));
    }
  }
  return absl::OkStatus();
}

// InvalidArgument: not a JSON object, or a field that is missing, of the wrong type, of the wrong length, not
// finite or not positive on the diagonal; the message names it, and what is allowed. Other fields are
// ignored.
absl::StatusOr<EstimateLine> ParseEstimateLine(std::string_view text) {
  const Json object = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("not a JSON object");
  EstimateLine line;
  RETURN_IF_ERROR(Read(object, "site", line.site));
  RETURN_IF_ERROR(Read(object, "epoch", line.epoch));
  RETURN_IF_ERROR(Read(object, "subject", line.subject));
  RETURN_IF_ERROR(Read(object, "source", line.source));
  RETURN_IF_ERROR(Read(object, "mean", line.mean));
  RETURN_IF_ERROR(Read(object, "scale_tril", line.scale_tril));
  RETURN_IF_ERROR(CheckShape(line));
  return line;
}

// The estimates of one subject in one slot, at least one.
using Group = std::vector<EstimateLine>;

absl::Status AddTo(Group& group, EstimateLine line) {
  if (std::ranges::count(group, line.source, &EstimateLine::source) > 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("field 'source': '", line.source, "' has been given for this site, epoch and subject"));
  }
  if (!group.empty() && line.mean.size() != group[0].mean.size()) {
    return absl::InvalidArgumentError(absl::StrCat("field 'mean' has ", line.mean.size(),
                                                   " elements, must have ", group[0].mean.size(),
                                                   " as the others of its subject"));
  }
  group.push_back(std::move(line));
  return absl::OkStatus();
}

template <int D>
estimate::Gaussian<D> ToGaussian(const EstimateLine& line) {
  estimate::Gaussian<D> gaussian;
  gaussian.cholesky.setZero();
  auto element = line.scale_tril.begin();
  for (int row = 0; row < D; ++row) {
    gaussian.mean[row] = line.mean[static_cast<std::size_t>(row)];
    for (int column = 0; column <= row; ++column) gaussian.cholesky(row, column) = *element++;
  }
  return gaussian;
}

template <int D>
absl::StatusOr<nlohmann::ordered_json> Fuse(const Group& group, Method method) {
  std::vector<estimate::Gaussian<D>> inputs;
  for (const EstimateLine& line : group) inputs.push_back(ToGaussian<D>(line));
  ASSIGN_OR_RETURN(const estimate::Gaussian<D> fused, method == Method::kProduct
                                                          ? estimate::Conflate<D>(inputs)
                                                          : estimate::Intersect<D>(inputs));
  const estimate::Matrix<D> covariance = fused.Covariance();
  if (!fused.mean.allFinite() || !covariance.allFinite()) {
    return absl::OutOfRangeError("the result is beyond the range of double");
  }
  std::vector<std::vector<double>> rows;
  std::vector<double> triangle;
  for (int row = 0; row < D; ++row) {
    rows.emplace_back(covariance.row(row).begin(), covariance.row(row).end());
    for (int column = 0; column <= row; ++column) triangle.push_back(fused.cholesky(row, column));
  }
  std::vector<std::string> contributors;
  for (const EstimateLine& line : group) contributors.push_back(line.source);
  std::ranges::sort(contributors);

  const EstimateLine& first = group[0];
  return nlohmann::ordered_json{
      {"site", first.site},           {"epoch", std::to_string(first.epoch)},
      {"subject", first.subject},     {"mean", std::vector<double>(fused.mean.begin(), fused.mean.end())},
      {"scale_tril", triangle},       {"covariance", rows},
      {"contributors", contributors},
  };
}

absl::StatusOr<nlohmann::ordered_json> FuseGroup(const Group& group, Method method) {
  switch (group[0].mean.size()) {
    case 1:
      return Fuse<1>(group, method);
    case 2:
      return Fuse<2>(group, method);
    default:
      return Fuse<3>(group, method);
  }
}

}  // namespace

int RunConflate(std::istream& in, std::ostream& out, std::ostream& error, const ConflateOptions& options) {
  int exit_code = EX_OK;
  std::vector<Group> groups;  // in the order of their first appearance
  std::map<std::tuple<std::string, std::uint64_t, std::uint32_t>, std::size_t> index;
  const auto add = [&](EstimateLine line) {
    const auto [found, added] = index.try_emplace({line.site, line.epoch, line.subject}, groups.size());
    if (added) groups.emplace_back();
    return AddTo(groups[found->second], std::move(line));
  };
  std::string text;
  for (std::uint64_t number = 1; std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    absl::StatusOr<EstimateLine> line = ParseEstimateLine(text);
    const absl::Status status = line.ok() ? add(*std::move(line)) : line.status();
    if (status.ok()) continue;
    error << kErrorPrefix << "line " << number << ": " << runtime::Printable(std::string(status.message()))
          << '\n';
    exit_code = EX_DATAERR;
  }
  for (const Group& group : groups) {
    const absl::StatusOr<nlohmann::ordered_json> fused = FuseGroup(group, options.method);
    if (fused.ok()) {
      out << wire::DumpJson(*fused) << '\n';
      continue;
    }
    const EstimateLine& first = group[0];
    error << kErrorPrefix << "site '" << runtime::Printable(first.site) << "', epoch " << first.epoch
          << ", subject " << first.subject << ": "
          << runtime::Printable(std::string(fused.status().message())) << '\n';
    exit_code = EX_DATAERR;
  }
  return exit_code;
}

void AddConflateCommand(Commands& program) {
  auto [command, options] = program.Add<ConflateOptions>(
      "conflate", "Fuse Gaussian estimates: reads and prints lines of JSON",
      [](const ConflateOptions& given) {
        return AlreadyReported(RunConflate(std::cin, std::cout, std::cerr, given));
      });
  command.Choice(
      "--method", options.method, {{"intersection", Method::kIntersection}, {"product", Method::kProduct}},
      "How to fuse: product for independent sources, intersection if their correlation is unknown");
  command.Examples(
      "Example:\n"
      "  tributary conflate < estimates.jsonl > fused.jsonl\n\n"
      "A line in: {\"site\": \"lab\", \"epoch\": 1, \"subject\": 0, \"source\": \"south\", \"mean\": [x, y], "
      "\"scale_tril\": [l11, l21, l22]}\nOne line out per subject: mean, scale_tril, covariance, "
      "contributors. docs/api.md has the keys.");
}

}  // namespace tributary::cli
