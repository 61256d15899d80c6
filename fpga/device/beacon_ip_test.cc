// Programs that reach the beacon board's registers themselves, by xrt::ip.
#include <gtest/gtest.h>
#include <xrt/experimental/xrt_ip.h>
#include <xrt/xrt_device.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/beacon_image.h"
#include "fpga/model/kernel_interface.h"
#include "tests/support/own_folder.h"

namespace tributary::device {
namespace {

using Bit = fpga::BeaconBit;
using Register = fpga::BeaconRegister;
using Window = fpga::BeaconWindow;

class BeaconIpTest : public testing::Test {
 protected:
  static xrt::ip Open(const std::string& name) {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    const std::string path = OwnFolder() + name + ".xclbin";
    std::ofstream(path, std::ios::binary) << WriteXclbin({.kernels = {{name, 1}}}).value();
    xrt::device device(0);
    const xrt::uuid uuid = device.load_xclbin(path);
    return {device, uuid, name};
  }

  static std::uint32_t At(std::uint32_t window, std::size_t word) {
    return window + 4 * static_cast<std::uint32_t>(word);
  }
};

TEST_F(BeaconIpTest, TheBoardsPortsComputeAsTheModel) {
  xrt::ip board = Open("beacon_ports");
  std::mt19937 random(41);
  std::uniform_real_distribution<double> weight(-3.0, 3.0);
  for (int round = 0; round < 3; ++round) {
    nn::BeaconNetwork network;
    for (double& parameter : network.parameters) parameter = weight(random);
    const fpga::BeaconModel model(network);
    for (std::size_t i = 0; i < model.weights().size(); ++i) {
      const std::size_t layer = i < nn::BeaconNetwork::kLayer1 ? 0 : 1;
      const std::uint32_t address = At(Window::kLayers[layer], i - layer * nn::BeaconNetwork::kLayer1);
      board.write_register(address, static_cast<std::uint32_t>(model.weights()[i]));
      EXPECT_EQ(board.read_register(address), static_cast<std::uint32_t>(model.weights()[i]));
    }
    std::array<fpga::BeaconModel::Inputs, fpga::kBeaconPortSamples> samples;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      for (std::size_t k = 0; k < 3; ++k) {
        samples[s][k] = static_cast<std::int32_t>(random() % 2048) - 1024;
        board.write_register(At(Window::kInputs[k], s), static_cast<std::uint32_t>(samples[s][k]));
      }
    }
    board.write_register(Register::kControl, Bit::kStart | static_cast<std::uint32_t>(samples.size()));
    board.write_register(Register::kControl, Bit::kStart | 1);
    EXPECT_EQ(board.read_register(Register::kStatus), Bit::kBusy | Bit::kStartRefused);
    for (int look = 0; look < 200 && (board.read_register(Register::kStatus) & Bit::kDone) == 0; ++look) {
    }
    EXPECT_EQ(board.read_register(Register::kStatus), Bit::kDone | Bit::kStartRefused);
    board.write_register(Register::kStatus, Bit::kStartRefused);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const fpga::BeaconModel::Outputs expected = model.Run(samples[s]);
      for (std::size_t o = 0; o < 2; ++o) {
        EXPECT_EQ(board.read_register(At(Window::kOutputs[o], s)),
                  static_cast<std::uint32_t>(expected[o]) & 0x7ffu);
      }
    }
    EXPECT_EQ(board.read_register(Register::kCycles), 90u);
  }
}

TEST_F(BeaconIpTest, TheKernelsRegistersAreReachedToo) {
  xrt::ip kernel = Open("beacon_kernel");
  const std::uint32_t offset = fpga::kKernelArguments[fpga::kFramesArgument].offset;
  kernel.write_register(offset, 12'345);
  EXPECT_EQ(kernel.read_register(offset), 12'345u);
  EXPECT_EQ(kernel.read_register(fpga::KernelRegister::kControl), fpga::KernelControl::kIdle);
}

}  // namespace
}  // namespace tributary::device
