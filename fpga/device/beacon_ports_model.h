// beacon_ports on the software device: its ports in one address range, as an interconnect of a board gives
// them (fpga::BeaconWindow). Programs reach them by xrt::ip; there are no runs of XRT.
#pragma once

#include "fpga/device/axi_memory_port.h"
#include "fpga/device/beacon_host.h"
#include "fpga/device/kernel_model.h"

namespace tributary::device {

class BeaconPortsModel final : public KernelModel {
 public:
  explicit BeaconPortsModel(BusMemory* memory) : port_(memory) {}

  void Reset() override { host_.Reset(); }
  void Step() override { host_.Step(); }

  // A word at the start of a window is the port's first one. 0 where nothing can be read.
  std::uint32_t ReadRegister(std::uint32_t offset) override;
  // Writes nothing where nothing can be written.
  void WriteRegister(std::uint32_t offset, std::uint32_t value) override;

  bool interrupt() const override { return host_.interrupt(); }
  AxiMemoryPort& memory_port() override { return port_; }

 private:
  BeaconHost host_;
  AxiMemoryPort port_;  // nothing uses it: the ports are slaves
};

}  // namespace tributary::device
