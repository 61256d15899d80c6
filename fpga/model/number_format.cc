#include "fpga/model/number_format.h"

#include "absl/strings/str_cat.h"

namespace tributary::fpga {

std::string_view NumberFormatName(NumberFormat format) {
  switch (format) {
    case NumberFormat::kFloat:
      return "float";
    case NumberFormat::kInt32:
      return "int32";
    case NumberFormat::kInt16:
      return "int16";
    case NumberFormat::kInt8:
      return "int8";
    case NumberFormat::kInt8Int16:
      return "int8_16";
  }
  return "unknown";
}

absl::StatusOr<NumberFormat> ParseNumberFormat(std::string_view name) {
  for (const NumberFormat format : kNumberFormats) {
    if (name == NumberFormatName(format)) return format;
  }
  return absl::InvalidArgumentError(absl::StrCat("number format \"", std::string(name),
                                                 "\": float, int32, int16, int8 or int8_16 is allowed"));
}

}  // namespace tributary::fpga
