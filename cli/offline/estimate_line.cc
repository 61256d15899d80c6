#include "cli/offline/estimate_line.h"

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/estimate/categorical.h"
#include "core/estimate/tuple_frame.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

using Json = nlohmann::json;

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

absl::Status ReadField(const Json& value, const char* field, std::vector<std::string>& to) {
  if (!value.is_array()) return Fault(field, "must be an array of texts");
  for (const Json& element : value) {
    if (!element.is_string()) return Fault(field, absl::StrCat("element ", to.size(), " must be a text"));
    to.push_back(element.get<std::string>());
  }
  return absl::OkStatus();
}

template <class T>
absl::Status Read(const Json& object, const char* field, T& to) {
  const auto found = object.find(field);
  return found == object.end() ? Fault(field, "is missing") : ReadField(*found, field, to);
}

absl::Status CheckGaussian(const EstimateLine& line) {
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

absl::Status CheckCategorical(const EstimateLine& line) {
  const std::size_t classes = line.log_probabilities.size();
  if (classes < estimate::kLeastClasses || classes > estimate::kMostClasses) {
    return Fault("log_probabilities", absl::StrCat("has ", classes, " elements, must have ",
                                                   estimate::kLeastClasses, " to ", estimate::kMostClasses));
  }
  if (estimate::FaultOf<double>(line.log_probabilities)) {
    return Fault("log_probabilities", "must be the natural logarithms of probabilities that sum to 1");
  }
  if (!line.classes.empty() && line.classes.size() != classes) {
    return Fault("classes", absl::StrCat("has ", line.classes.size(), " names for ", classes, " classes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> ParseObject(std::string_view text) {
  try {
    Json object = Json::parse(text.begin(), text.end());
    if (object.is_object()) return object;
  } catch (const Json::out_of_range& fault) {
    return absl::InvalidArgumentError("a number is too large: its magnitude must be below 1.8e308");
  } catch (const Json::exception& fault) {
    return absl::InvalidArgumentError("not a JSON object");
  }
  return absl::InvalidArgumentError("not a JSON object");
}

}  // namespace

absl::StatusOr<EstimateLine> ParseEstimateLine(std::string_view text) {
  ASSIGN_OR_RETURN(const Json object, ParseObject(text));
  EstimateLine line;
  RETURN_IF_ERROR(Read(object, "site", line.site));
  RETURN_IF_ERROR(Read(object, "epoch", line.epoch));
  RETURN_IF_ERROR(Read(object, "subject", line.subject));
  RETURN_IF_ERROR(Read(object, "source", line.source));
  if (object.contains("log_probabilities")) {
    RETURN_IF_ERROR(Read(object, "log_probabilities", line.log_probabilities));
    if (object.contains("classes")) RETURN_IF_ERROR(Read(object, "classes", line.classes));
    RETURN_IF_ERROR(CheckCategorical(line));
    return line;
  }
  RETURN_IF_ERROR(Read(object, "mean", line.mean));
  RETURN_IF_ERROR(Read(object, "scale_tril", line.scale_tril));
  RETURN_IF_ERROR(CheckGaussian(line));
  return line;
}

}  // namespace tributary::cli
