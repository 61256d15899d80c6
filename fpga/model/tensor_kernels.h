// The kernels of the tensor unit in fpga/rtl/kernel.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

struct TensorKernel {
  std::string_view name;
  TensorUnitSize size;  // as it ships
};
// All have int8.
inline constexpr std::array<TensorKernel, 5> kTensorKernels = {{
    {"tensor_kernel", {}},
    {"tensor_kernel_bfloat", {.bfloat16 = true}},
    {"tensor_kernel_float32", {.float32 = true}},
    {"tensor_kernel_int16", {.int16 = true}},
    {"tensor_kernel_int32", {.int32 = true}},
}};

// `name` is one of them.
constexpr TensorUnitSize TensorKernelSize(std::string_view name) {
  return std::ranges::find(kTensorKernels, name, &TensorKernel::name)->size;
}

}  // namespace tributary::fpga
