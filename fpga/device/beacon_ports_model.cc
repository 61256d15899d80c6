#include "fpga/device/beacon_ports_model.h"

#include <algorithm>
#include <cstddef>

#include "fpga/model/beacon_image.h"

namespace tributary::device {
namespace {

using Window = fpga::BeaconWindow;

constexpr std::uint32_t kWindowBytes = 0x1000;

// The port whose window this is; nullptr if it is none of these.
template <typename Ports, typename Windows>
auto* PortOf(Ports& ports, const Windows& windows, std::uint32_t window) {
  const auto found = std::ranges::find(windows, window);
  return found == windows.end() ? nullptr : &ports[static_cast<std::size_t>(found - windows.begin())];
}

}  // namespace

std::uint32_t BeaconPortsModel::ReadRegister(std::uint32_t offset) {
  const std::uint32_t window = offset / kWindowBytes * kWindowBytes;
  AxiReadHost* port = window == Window::kControl ? &host_.control_read : nullptr;
  if (port == nullptr) port = PortOf(host_.outputs, Window::kOutputs, window);
  if (port == nullptr) port = PortOf(host_.weights_read, Window::kLayers, window);
  if (port == nullptr) return 0;
  port->Push({.address = static_cast<std::uint16_t>(offset - window)});
  host_.Finish();
  return port->TakeWords().back().value;
}

void BeaconPortsModel::WriteRegister(std::uint32_t offset, std::uint32_t value) {
  const std::uint32_t window = offset / kWindowBytes * kWindowBytes;
  AxiWriteHost* port = window == Window::kControl ? &host_.control_write : nullptr;
  if (port == nullptr) port = PortOf(host_.inputs, Window::kInputs, window);
  if (port == nullptr) port = PortOf(host_.weights_write, Window::kLayers, window);
  if (port == nullptr) return;
  port->Push({.address = static_cast<std::uint16_t>(offset - window), .words = {value}});
  host_.Finish();
  port->TakeAnswers();
}

}  // namespace tributary::device
