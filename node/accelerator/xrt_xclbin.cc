#include "node/accelerator/xrt_xclbin.h"

#include <xclbin.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>

#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "fmt/format.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kHeaderBytes = offsetof(axlf, m_sections);
constexpr std::uint32_t kMaxSections = 256;
// Sections may lie over each other: without a bound, those of a file of 1 MB give three million units.
constexpr std::size_t kMaxUnits = 1024;

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

std::string UuidText(std::span<const unsigned char, 16> uuid) {
  const std::string digits = fmt::format("{:02x}", fmt::join(uuid, ""));
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                     digits.substr(16, 4), digits.substr(20));
}

// A section that is a count and elements: they begin at `first` and take `size` bytes each.
struct Table {
  std::uint32_t kind;
  std::size_t first;
  std::size_t size;
  const char* name;
};

constexpr Table kTables[] = {
    {IP_LAYOUT, offsetof(ip_layout, m_ip_data), sizeof(ip_data), "the table of compute units"},
    {MEM_TOPOLOGY, offsetof(mem_topology, m_mem_data), sizeof(mem_data), "the table of memories"},
    {ASK_GROUP_TOPOLOGY, offsetof(mem_topology, m_mem_data), sizeof(mem_data), "the table of memories"},
    {CONNECTIVITY, offsetof(connectivity, m_connection), sizeof(connection), "the table of connections"},
    {ASK_GROUP_CONNECTIVITY, offsetof(connectivity, m_connection), sizeof(connection),
     "the table of connections"},
};

// All elements must lie within the section.
absl::Status ParseSection(std::uint32_t kind, std::string_view section, XclbinSummary& summary) {
  const auto* table = std::ranges::find(kTables, kind, &Table::kind);
  if (table == std::end(kTables)) return absl::OkStatus();
  const auto count = Read<std::int32_t>(section, 0);
  if (!count.has_value() || *count < 0) return Truncated(table->name);
  const auto elements = static_cast<std::size_t>(*count);
  if (elements > 0 &&
      (section.size() < table->first || (section.size() - table->first) / table->size < elements)) {
    return Truncated(table->name);
  }
  if (kind != IP_LAYOUT) return absl::OkStatus();
  if (elements > kMaxUnits - summary.units.size()) {
    return absl::InvalidArgumentError(fmt::format("more than {} compute units", kMaxUnits));
  }
  for (std::size_t i = 0; i < elements; ++i) {
    const ip_data ip = *Read<ip_data>(section, table->first + i * table->size);
    if (ip.m_type == IP_KERNEL) summary.units.push_back(Text(ip.m_name));
  }
  return absl::OkStatus();
}

}  // namespace

bool HasUnit(const XclbinSummary& xclbin, std::string_view kernel) {
  const std::string prefix = fmt::format("{}:", kernel);
  return std::ranges::any_of(xclbin.units, [&](const std::string& unit) { return unit.starts_with(prefix); });
}

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
    RETURN_IF_ERROR(ParseSection(section->m_sectionKind,
                                 bytes.substr(section->m_sectionOffset, section->m_sectionSize), summary));
  }
  if (summary.units.empty()) return absl::InvalidArgumentError("no compute units in it");
  return summary;
}

absl::StatusOr<XclbinSummary> ReadXclbin(const std::string& path) {
  const absl::StatusOr<std::string> bytes = runtime::ReadFile(path);
  if (absl::IsNotFound(bytes.status())) {
    return absl::NotFoundError(fmt::format(
        "xclbin {}: not found. Install the bitstream of this board there, or set `xclbin` to its place",
        path));
  }
  // A folder is a fault of the configuration: no fallback hides it.
  if (absl::IsFailedPrecondition(bytes.status())) {
    return absl::InvalidArgumentError(fmt::format("xclbin {}", std::string(bytes.status().message())));
  }
  if (!bytes.ok()) return WithContext("xclbin", bytes.status());
  absl::StatusOr<XclbinSummary> summary = ParseXclbin(*bytes);
  if (summary.ok()) return summary;
  return absl::Status(summary.status().code(), fmt::format("xclbin {}: {}. Copy it to the board again", path,
                                                           std::string(summary.status().message())));
}

}  // namespace tributary::accelerator
