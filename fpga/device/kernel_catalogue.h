// The kernels of the software device.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fpga/device/kernel_model.h"

namespace tributary::device {

// nullptr if there is no kernel of that name.
std::unique_ptr<KernelModel> MakeKernel(std::string_view name, BusMemory* memory);

std::vector<std::string> KernelNames();

}  // namespace tributary::device
