#include "fpga/device/kernel_model.h"

#include <array>

#include "Vaugment_convolve_kernel.h"
#include "Vfusion_kernel.h"
#include "Vloopback_kernel.h"
#include "Vpositioning_kernel.h"
#include "fpga/device/verilated_kernel.h"

namespace tributary::device {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<KernelModel> (*make)(BusMemory*);
};

template <typename Top>
std::unique_ptr<KernelModel> Make(BusMemory* memory) {
  return std::make_unique<VerilatedKernel<Top>>(memory);
}

constexpr std::array kEntries{Entry{"loopback_kernel", &Make<Vloopback_kernel>},
                              Entry{"positioning_kernel", &Make<Vpositioning_kernel>},
                              Entry{"fusion_kernel", &Make<Vfusion_kernel>},
                              Entry{"augment_convolve_kernel", &Make<Vaugment_convolve_kernel>}};

}  // namespace

std::unique_ptr<KernelModel> MakeKernel(std::string_view name, BusMemory* memory) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.make(memory);
  }
  return nullptr;
}

}  // namespace tributary::device
