// The number formats of [LIS], table 4.3, that a positioning network can run in.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tributary::fpga {

enum class NumberFormat {
  kFloat,      // IEEE single precision
  kInt32,      // 32-bit words throughout
  kInt16,      // 16-bit words throughout
  kInt8,       // 8-bit words throughout, products at full precision, 16-bit results of the last layer
  kInt8Int16,  // 8-bit inputs and weights in layer 1, 16-bit words in the rest: the format of the hardware in
               // [LIS]
};

inline constexpr std::array kNumberFormats = {NumberFormat::kFloat, NumberFormat::kInt32,
                                              NumberFormat::kInt16, NumberFormat::kInt8,
                                              NumberFormat::kInt8Int16};

// "float", "int32", "int16", "int8", "int8_16": as written in configurations and on the command line.
constexpr std::string_view NumberFormatName(NumberFormat format) {
  constexpr std::array<std::string_view, kNumberFormats.size()> kNames = {"float", "int32", "int16", "int8",
                                                                          "int8_16"};
  return kNames[static_cast<std::size_t>(format)];
}

// Errors: InvalidArgument, naming what is allowed.
inline absl::StatusOr<NumberFormat> ParseNumberFormat(std::string_view name) {
  for (const NumberFormat format : kNumberFormats) {
    if (name == NumberFormatName(format)) return format;
  }
  return absl::InvalidArgumentError(absl::StrCat("number format \"", std::string(name),
                                                 "\": float, int32, int16, int8 or int8_16 is allowed"));
}

}  // namespace tributary::fpga
