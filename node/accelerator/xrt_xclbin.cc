#include "node/accelerator/xrt_xclbin.h"

#include <xclbin.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "fmt/format.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kHeaderBytes = offsetof(axlf, m_sections);
constexpr std::uint32_t kMaxSections = 256;

template <typename T>
std::optional<T> Read(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <std::size_t size, typename Char>
std::string Text(const Char (&field)[size]) {
  const char* text = reinterpret_cast<const char*>(field);
  return std::string(text, strnlen(text, size));
}

absl::Status Truncated(std::string_view what) {
  return absl::DataLossError(fmt::format("{} reaches beyond the end: the file is truncated", what));
}

std::string UuidText(const unsigned char* uuid) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

// Count of a section whose elements begin at `first` and take `size` bytes each; they must lie within it.
std::optional<std::int32_t> CountOf(std::string_view section, std::size_t first, std::size_t size) {
  const auto count = Read<std::int32_t>(section, 0);
  if (!count.has_value() || *count < 0) return std::nullopt;
  if (*count > 0 && (section.size() < first || (section.size() - first) / size < std::size_t(*count)))
    return std::nullopt;
  return count;
}

absl::Status ParseSection(std::uint32_t kind, std::string_view section, XclbinSummary& summary) {
  switch (kind) {
    case IP_LAYOUT: {
      constexpr std::size_t kFirst = offsetof(ip_layout, m_ip_data);
      const auto count = CountOf(section, kFirst, sizeof(ip_data));
      if (!count.has_value()) return Truncated("the table of compute units");
      for (std::int32_t i = 0; i < *count; ++i) {
        const ip_data ip = *Read<ip_data>(section, kFirst + static_cast<std::size_t>(i) * sizeof(ip_data));
        if (ip.m_type == IP_KERNEL) summary.units.push_back(Text(ip.m_name));
      }
      return absl::OkStatus();
    }
    case MEM_TOPOLOGY:
    case ASK_GROUP_TOPOLOGY:
      if (!CountOf(section, offsetof(mem_topology, m_mem_data), sizeof(mem_data)).has_value()) {
        return Truncated("the table of memories");
      }
      return absl::OkStatus();
    case CONNECTIVITY:
    case ASK_GROUP_CONNECTIVITY:
      if (!CountOf(section, offsetof(connectivity, m_connection), sizeof(connection)).has_value()) {
        return Truncated("the table of connections");
      }
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<XclbinSummary> ParseXclbin(std::string_view bytes) {
  const auto header = Read<axlf>(std::string(bytes.substr(0, kHeaderBytes)).append(sizeof(axlf), '\0'), 0);
  if (bytes.size() < 8 || std::memcmp(bytes.data(), "xclbin2", 8) != 0) {
    return absl::InvalidArgumentError("not an xclbin: it does not begin with xclbin2");
  }
  if (bytes.size() < kHeaderBytes) return Truncated("the header");
  if (header->m_header.m_length > bytes.size()) {
    return absl::DataLossError(fmt::format("{} bytes of {}: the file is truncated", bytes.size(),
                                           std::uint64_t{header->m_header.m_length}));
  }
  const std::uint32_t sections = header->m_header.m_numSections;
  if (sections > kMaxSections) return absl::InvalidArgumentError(fmt::format("{} sections", sections));

  XclbinSummary summary;
  summary.uuid = UuidText(header->m_header.uuid);
  summary.platform = Text(header->m_header.m_platformVBNV);
  for (std::uint32_t i = 0; i < sections; ++i) {
    const auto section = Read<axlf_section_header>(bytes, kHeaderBytes + i * sizeof(axlf_section_header));
    if (!section.has_value()) return Truncated("the table of sections");
    if (section->m_sectionOffset > bytes.size() ||
        section->m_sectionSize > bytes.size() - section->m_sectionOffset) {
      return Truncated(fmt::format("section {}", i));
    }
    const absl::Status parsed = ParseSection(
        section->m_sectionKind, bytes.substr(section->m_sectionOffset, section->m_sectionSize), summary);
    if (!parsed.ok()) return parsed;
  }
  if (summary.units.empty()) return absl::InvalidArgumentError("no compute units in it");
  return summary;
}

absl::StatusOr<XclbinSummary> ReadXclbin(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == EACCES) {
      return absl::PermissionDeniedError(fmt::format("xclbin {}: no permission to read it", path));
    }
    return absl::NotFoundError(fmt::format(
        "xclbin {}: not found. Install the bitstream of this board there, or set `xclbin` to its place",
        path));
  }
  std::ostringstream content;
  content << file.rdbuf();
  absl::StatusOr<XclbinSummary> summary = ParseXclbin(content.str());
  if (!summary.ok()) {
    return absl::Status(summary.status().code(), fmt::format("xclbin {}: {}. Copy it to the board again",
                                                             path, std::string(summary.status().message())));
  }
  return summary;
}

}  // namespace tributary::accelerator
