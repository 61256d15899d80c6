// The interface of host, software device and RTL: the arguments, registers and report of every kernel
// (fpga/rtl/kernel/kernel_control.sv and kernel_shell.sv).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::fpga {

// Register offsets in bytes.
struct KernelRegister {
  static constexpr std::uint32_t kControl = 0x00;
  static constexpr std::uint32_t kGlobalInterrupt = 0x04;
  static constexpr std::uint32_t kInterruptEnable = 0x08;
  static constexpr std::uint32_t kInterruptStatus = 0x0c;
  static constexpr std::uint32_t kStatus = 0x60;  // bit 0: a read failed, bit 1: a write failed
  static constexpr std::uint32_t kFramesDone = 0x64;
  static constexpr std::uint32_t kCyclesLow = 0x68;
  static constexpr std::uint32_t kCyclesHigh = 0x6c;
};

// Bits of the control register (ap_ctrl_chain).
struct KernelControl {
  static constexpr std::uint32_t kStart = 1;
  static constexpr std::uint32_t kDone = 2;
  static constexpr std::uint32_t kIdle = 4;
  static constexpr std::uint32_t kReady = 8;
  static constexpr std::uint32_t kContinue = 16;
};

struct KernelArgument {
  const char* name;
  const char* type;  // as XRT's metadata writes it
  std::uint32_t offset;
  std::uint32_t bytes;
  bool buffer;  // a pointer into the device's memory
};

// In the order of xrt::run::set_arg.
enum KernelArgumentIndex : int {
  kInputArgument,
  kOutputArgument,
  kParametersArgument,
  kFramesArgument,
  kParameterWordsArgument,  // 0: no parameters are loaded in this run
  kConfigurationArgument,
  kSeedArgument,
};

inline constexpr std::array<KernelArgument, 7> kKernelArguments{{
    {"input", "void*", 0x10, 8, true},
    {"output", "void*", 0x1c, 8, true},
    {"parameters", "void*", 0x28, 8, true},
    {"frames", "uint", 0x34, 4, false},
    {"parameter_words", "uint", 0x3c, 4, false},
    {"configuration", "uint", 0x44, 4, false},
    {"seed", "uint", 0x4c, 4, false},
}};

// A frame that a kernel takes with any contents, parameters included: a check of the board sends it. The
// positioning, beacon and modulation kernels take no frame before their parameters
// (PositioningParameterWords, ToBeaconWords, ModulationParameterWords).
struct KernelProbe {
  std::string_view kernel;
  std::uint32_t configuration;
  std::size_t input_words, output_words, parameter_words;
};
inline constexpr std::array<KernelProbe, 12> kKernelProbes{{
    {"loopback_kernel", 8, 8, 8, 0},
    {"positioning_kernel", 0, 128, 3, 32941},
    {"fusion_kernel", 1, 3, 3, 0},
    {"beacon_kernel", 0, 1, 1, 16},
    {"modulation_kernel", 0, 32, 5, 6408},
    {"modulation_kernel_8", 0, 32, 5, 4488},
    {"augment_convolve_kernel", 0, 98, 98, 0},
    {"tensor_kernel", 0, 0, 0, 8},
    {"tensor_kernel_bfloat", 0, 0, 0, 8},
    {"tensor_kernel_float32", 0, 0, 0, 8},
    {"tensor_kernel_int16", 0, 0, 0, 8},
    {"tensor_kernel_int32", 0, 0, 0, 8},
}};

// The IP without the registers and arguments above; programs reach its own ones by xrt::ip
// (fpga/model/beacon_image.h).
inline constexpr std::string_view kUserManagedKernel = "beacon_ports";

// The two words that a kernel writes behind its last output word. A host that clears them before the run
// knows from valid() that the run took place.
struct KernelReport {
  static constexpr std::size_t kWords = 2;
  static constexpr std::uint64_t kMark = 0x7b17;

  std::uint64_t summary = 0;
  std::uint64_t cycles = 0;

  bool valid() const { return (summary >> 48) == kMark; }
  bool read_failed() const { return (summary >> 32 & 1) != 0; }
  bool write_failed() const { return (summary >> 33 & 1) != 0; }
  std::uint32_t frames_done() const { return static_cast<std::uint32_t>(summary); }
};

}  // namespace tributary::fpga
