#include "fpga/device/xclbin/xclbin_writer.h"

#include <openssl/sha.h>
#include <xclbin.h>

#include <cstddef>
#include <cstring>

#include "core/status/macros.h"
#include "fmt/format.h"
#include "fpga/model/kernel_interface.h"

namespace tributary::device {
namespace {

constexpr int kMaxInstances = 16;
constexpr std::uint64_t kUnitBase = 0xa000'0000;  // where boards with a ZynqMP map their kernels
constexpr std::uint64_t kUnitBytes = 0x10000;
constexpr std::uint64_t kMemoryBase = 0x1'0000'0000;
constexpr std::uint64_t kMemoryKib = 262144;
constexpr int kClockMhz = 100;

// An IP that no run of XRT starts: programs reach its registers by xrt::ip.
bool UserManaged(const XclbinContents::Kernel& kernel) { return kernel.name == fpga::kUserManagedKernel; }

struct Section {
  axlf_section_kind kind;
  const char* name;
  std::string bytes;
};

template <typename T>
void Append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <std::size_t size, typename Char>
void CopyName(Char (&field)[size], const std::string& name) {
  std::memset(field, 0, size);
  std::memcpy(field, name.data(), std::min(name.size(), size - 1));
}

std::string UnitName(const XclbinContents::Kernel& kernel, int instance) {
  return fmt::format("{}:{}_{}", kernel.name, kernel.name, instance + 1);
}

// A structure that ends in an array of one: its count is followed by the elements' alignment.
template <typename Element>
std::string Counted(std::size_t header_bytes, const std::vector<Element>& elements) {
  std::string bytes(header_bytes, '\0');
  const auto count = static_cast<std::int32_t>(elements.size());
  std::memcpy(bytes.data(), &count, sizeof(count));
  for (const Element& element : elements) Append(bytes, element);
  return bytes;
}

std::string MemoryTopology() {
  mem_data bank{};
  bank.m_type = MEM_DDR4;
  bank.m_used = 1;
  bank.m_size = kMemoryKib;
  bank.m_base_address = kMemoryBase;
  CopyName(bank.m_tag, "bank0");
  return Counted<mem_data>(offsetof(mem_topology, m_mem_data), {bank});
}

std::string IpLayout(const XclbinContents& contents) {
  std::vector<ip_data> units;
  for (const XclbinContents::Kernel& kernel : contents.kernels) {
    for (int instance = 0; instance < kernel.instances; ++instance) {
      ip_data ip{};
      ip.m_type = IP_KERNEL;
      const std::uint32_t control = UserManaged(kernel) ? AP_CTRL_NONE : AP_CTRL_CHAIN;
      ip.properties = IP_INT_ENABLE_MASK | (control << IP_CONTROL_SHIFT);
      ip.m_base_address = kUnitBase + units.size() * kUnitBytes;
      CopyName(ip.m_name, UnitName(kernel, instance));
      units.push_back(ip);
    }
  }
  return Counted(offsetof(ip_layout, m_ip_data), units);
}

// Every unit's buffers are in the one memory.
std::string Connectivity(const XclbinContents& contents) {
  std::vector<connection> connections;
  for (std::int32_t unit = 0; const XclbinContents::Kernel& kernel : contents.kernels) {
    for (int instance = 0; instance < kernel.instances; ++instance, ++unit) {
      if (UserManaged(kernel)) continue;
      for (std::int32_t i = 0; const fpga::KernelArgument& argument : fpga::kKernelArguments) {
        if (argument.buffer) connections.push_back({i, unit, 0});
        ++i;
      }
    }
  }
  return Counted(offsetof(connectivity, m_connection), connections);
}

std::string KernelXml(const XclbinContents::Kernel& kernel, int first_unit) {
  const bool user_managed = UserManaged(kernel);
  std::string xml = fmt::format(
      "<kernel name=\"{}\" language=\"rtl\" type=\"pl\" hwControlProtocol=\"{}\" "
      "interrupt=\"true\">\n"
      "<port name=\"S_AXI_CONTROL\" mode=\"slave\" range=\"{:#x}\" dataWidth=\"32\" portType=\"addressable\""
      " base=\"0x0\"/>\n",
      kernel.name, user_managed ? "user_managed" : "ap_ctrl_chain", user_managed ? kUnitBytes : 0x1000);
  if (!user_managed) {
    xml +=
        "<port name=\"M_AXI_GMEM\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" dataWidth=\"64\""
        " portType=\"addressable\" base=\"0x0\"/>\n";
  }
  for (std::size_t i = 0; !user_managed && i < fpga::kKernelArguments.size(); ++i) {
    const fpga::KernelArgument& argument = fpga::kKernelArguments[i];
    xml += fmt::format(
        "<arg name=\"{}\" addressQualifier=\"{}\" id=\"{}\" port=\"{}\" size=\"{:#x}\" offset=\"{:#x}\""
        " hostOffset=\"0x0\" hostSize=\"{:#x}\" type=\"{}\"/>\n",
        argument.name, argument.buffer ? 1 : 0, i, argument.buffer ? "M_AXI_GMEM" : "S_AXI_CONTROL",
        argument.bytes, argument.offset, argument.bytes, argument.type);
  }
  for (int instance = 0; instance < kernel.instances; ++instance) {
    const std::uint64_t base = kUnitBase + static_cast<std::uint64_t>(first_unit + instance) * kUnitBytes;
    xml += fmt::format(
        "<instance name=\"{}_{}\"><addrRemap base=\"{:#x}\" port=\"S_AXI_CONTROL\"/></instance>\n",
        kernel.name, instance + 1, base);
  }
  return xml + "</kernel>\n";
}

std::string Metadata(const XclbinContents& contents) {
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project name=\"tributary\">\n"
      "<platform vendor=\"tributary\" boardid=\"software\" name=\"device\" featureRomTime=\"0\">\n"
      "<device name=\"fpga0\" fpgaDevice=\"software\">\n<core name=\"tributary\" target=\"hw\" "
      "type=\"clc_region\">\n"
      "<kernelClocks><clock port=\"KERNEL_CLK\" frequency=\"{}MHz\"/></kernelClocks>\n",
      kClockMhz);
  int unit = 0;
  for (const XclbinContents::Kernel& kernel : contents.kernels) {
    xml += KernelXml(kernel, unit);
    unit += kernel.instances;
  }
  return xml + "</core>\n</device>\n</platform>\n</project>\n";
}

absl::Status Validate(const XclbinContents& contents) {
  if (contents.kernels.empty()) return absl::InvalidArgumentError("an xclbin needs a kernel");
  if (contents.platform.size() >= sizeof(axlf_header::m_platformVBNV)) {
    return absl::InvalidArgumentError(
        fmt::format("platform name of {} characters", contents.platform.size()));
  }
  for (const XclbinContents::Kernel& kernel : contents.kernels) {
    if (kernel.instances < 1 || kernel.instances > kMaxInstances) {
      return absl::InvalidArgumentError(
          fmt::format("{}: {} instances, not 1 … {}", kernel.name, kernel.instances, kMaxInstances));
    }
    if (kernel.name.empty() ||
        kernel.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos ||
        UnitName(kernel, kMaxInstances).size() >= sizeof(ip_data::m_name)) {
      return absl::InvalidArgumentError(fmt::format("kernel name {}", kernel.name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WriteXclbin(const XclbinContents& contents) {
  RETURN_IF_ERROR(Validate(contents));
  const Section sections[] = {{MEM_TOPOLOGY, "mem_topology", MemoryTopology()},
                              {IP_LAYOUT, "ip_layout", IpLayout(contents)},
                              {CONNECTIVITY, "connectivity", Connectivity(contents)},
                              {EMBEDDED_METADATA, "metadata", Metadata(contents)}};

  axlf top{};
  std::memcpy(top.m_magic, "xclbin2", 8);
  top.m_signature_length = -1;
  std::memset(top.reserved, 0xff, sizeof(top.reserved));
  std::memset(top.m_keyBlock, 0xff, sizeof(top.m_keyBlock));
  top.m_header.m_versionMajor = 2;
  top.m_header.m_versionMinor = 13;
  top.m_header.m_mode = XCLBIN_FLAT;
  CopyName(top.m_header.m_platformVBNV, contents.platform);
  top.m_header.m_numSections = std::size(sections);

  std::string headers;
  std::string bodies;
  const std::size_t bodies_offset =
      offsetof(axlf, m_sections) + std::size(sections) * sizeof(axlf_section_header);
  for (const Section& section : sections) {
    axlf_section_header header{};
    header.m_sectionKind = section.kind;
    CopyName(header.m_sectionName, section.name);
    header.m_sectionOffset = bodies_offset + bodies.size();
    header.m_sectionSize = section.bytes.size();
    Append(headers, header);
    bodies += section.bytes;
    bodies.resize((bodies.size() + 7) / 8 * 8, '\0');  // sections are read as structures
  }
  top.m_header.m_length = bodies_offset + bodies.size();

  const auto assemble = [&] {
    return std::string(reinterpret_cast<const char*>(&top), offsetof(axlf, m_sections)) + headers + bodies;
  };
  const std::string unnamed = assemble();
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(unnamed.data()), unnamed.size(), digest);
  std::memcpy(top.m_header.uuid, digest, sizeof(top.m_header.uuid));
  return assemble();
}

}  // namespace tributary::device
