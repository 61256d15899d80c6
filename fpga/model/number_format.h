// The number formats of [LIS], table 4.3, that a positioning network can run in.
#pragma once

#include <array>
#include <string_view>

#include "absl/status/statusor.h"

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
std::string_view NumberFormatName(NumberFormat format);

// Errors: InvalidArgument, naming what is allowed.
absl::StatusOr<NumberFormat> ParseNumberFormat(std::string_view name);

}  // namespace tributary::fpga
