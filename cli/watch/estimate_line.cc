#include "cli/watch/estimate_line.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::cli {
namespace {

using Json = nlohmann::json;

absl::Status Fault(const char* field, const std::string& must) {
  return absl::InvalidArgumentError(absl::StrCat("field '", field, "' ", must));
}

absl::Status ReadName(const Json& object, const char* field, std::string& to) {
  const auto found = object.find(field);
  if (found == object.end()) return Fault(field, "is missing");
  if (!found->is_string() || found->get_ref<const std::string&>().empty()) {
    return Fault(field, "must be a string that is not empty");
  }
  to = found->get<std::string>();
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

template <typename T>
absl::Status ReadCount(const Json& object, const char* field, T& to) {
  const auto found = object.find(field);
  if (found == object.end()) return Fault(field, "is missing");
  constexpr T kLargest = std::numeric_limits<T>::max();
  const std::optional<std::uint64_t> integer = ToInteger(*found);
  if (!integer || *integer > kLargest) {
    return Fault(field, absl::StrCat("must be an integer from 0 to ", kLargest));
  }
  to = static_cast<T>(*integer);
  return absl::OkStatus();
}

absl::Status ReadNumbers(const Json& object, const char* field, std::vector<double>& to) {
  const auto found = object.find(field);
  if (found == object.end()) return Fault(field, "is missing");
  if (!found->is_array()) return Fault(field, "must be an array of numbers");
  for (const Json& element : *found) {
    if (!element.is_number() || !std::isfinite(element.get<double>())) {
      return Fault(field, absl::StrCat("element ", to.size(), " must be a finite number"));
    }
    to.push_back(element.get<double>());
  }
  return absl::OkStatus();
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

}  // namespace

absl::StatusOr<EstimateLine> ParseEstimateLine(std::string_view text) {
  const Json object = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("not a JSON object");
  EstimateLine line;
  for (absl::Status status :
       {ReadName(object, "site", line.site), ReadCount(object, "epoch", line.epoch),
        ReadCount(object, "subject", line.subject), ReadName(object, "source", line.source),
        ReadNumbers(object, "mean", line.mean), ReadNumbers(object, "scale_tril", line.scale_tril)}) {
    if (!status.ok()) return status;
  }
  if (absl::Status status = CheckShape(line); !status.ok()) return status;
  return line;
}

}  // namespace tributary::cli
