#include "fpga/device/kernel_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "Vaugment_convolve_kernel.h"
#include "Vbeacon_kernel.h"
#include "Vfusion_kernel.h"
#include "Vloopback_kernel.h"
#include "Vmodulation_kernel.h"
#include "Vmodulation_kernel_8.h"
#include "Vpositioning_kernel.h"
#include "Vtensor_kernel.h"
#include "Vtensor_kernel_bfloat.h"
#include "Vtensor_kernel_float32.h"
#include "Vtensor_kernel_int16.h"
#include "Vtensor_kernel_int32.h"
#include "fpga/device/beacon_ports_model.h"
#include "fpga/device/verilated_kernel.h"

namespace tributary::device {
namespace {

template <typename Top>
std::unique_ptr<KernelModel> Make(BusMemory* memory) {
  return std::make_unique<VerilatedKernel<Top>>(memory);
}

std::unique_ptr<KernelModel> MakeBeaconPorts(BusMemory* memory) {
  return std::make_unique<BeaconPortsModel>(memory);
}

using Entry = std::pair<std::string_view, std::unique_ptr<KernelModel> (*)(BusMemory*)>;
constexpr Entry kEntries[] = {{"loopback_kernel", &Make<Vloopback_kernel>},
                              {"positioning_kernel", &Make<Vpositioning_kernel>},
                              {"fusion_kernel", &Make<Vfusion_kernel>},
                              {"beacon_kernel", &Make<Vbeacon_kernel>},
                              {"beacon_ports", &MakeBeaconPorts},
                              {"modulation_kernel", &Make<Vmodulation_kernel>},
                              {"modulation_kernel_8", &Make<Vmodulation_kernel_8>},
                              {"augment_convolve_kernel", &Make<Vaugment_convolve_kernel>},
                              {"tensor_kernel", &Make<Vtensor_kernel>},
                              {"tensor_kernel_bfloat", &Make<Vtensor_kernel_bfloat>},
                              {"tensor_kernel_float32", &Make<Vtensor_kernel_float32>},
                              {"tensor_kernel_int16", &Make<Vtensor_kernel_int16>},
                              {"tensor_kernel_int32", &Make<Vtensor_kernel_int32>}};

}  // namespace

std::unique_ptr<KernelModel> MakeKernel(std::string_view name, BusMemory* memory) {
  const auto* entry = std::ranges::find(kEntries, name, &Entry::first);
  return entry == std::end(kEntries) ? nullptr : entry->second(memory);
}

}  // namespace tributary::device
