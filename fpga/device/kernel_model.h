// The kernels of the software device, by their interface: registers, clock and bus.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "fpga/device/axi_memory_port.h"

namespace tributary::device {

// One thread at a time.
class KernelModel {
 public:
  virtual ~KernelModel() = default;

  // Holds the reset for a few clocks; a running job is lost.
  virtual void Reset() = 0;

  // One clock.
  virtual void Step() = 0;

  // AXI4-Lite accesses; each takes a few clocks.
  virtual std::uint32_t ReadRegister(std::uint32_t offset) = 0;
  virtual void WriteRegister(std::uint32_t offset, std::uint32_t value) = 0;

  virtual bool interrupt() const = 0;
  virtual AxiMemoryPort& memory_port() = 0;
};

// nullptr if there is no kernel of that name.
std::unique_ptr<KernelModel> MakeKernel(std::string_view name, BusMemory* memory);

}  // namespace tributary::device
