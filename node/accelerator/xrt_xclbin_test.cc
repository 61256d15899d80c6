#include "node/accelerator/xrt_xclbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xclbin.h>

#include <cstddef>
#include <cstring>

namespace tributary::accelerator {
namespace {

using ::testing::HasSubstr;

template <typename T>
void Append(std::string& bytes, const T& value, std::size_t size = sizeof(T)) {
  bytes.append(reinterpret_cast<const char*>(&value), size);
}

// An xclbin whose sections all are the same table of so many compute units.
std::string Xclbin(std::uint32_t sections, std::int32_t units) {
  axlf header{};
  std::memcpy(header.m_magic, "xclbin2", 8);
  header.m_header.m_numSections = sections;
  const std::size_t table = offsetof(axlf, m_sections) + sections * sizeof(axlf_section_header);
  const std::size_t table_bytes =
      offsetof(ip_layout, m_ip_data) + static_cast<std::size_t>(units) * sizeof(ip_data);
  header.m_header.m_length = table + table_bytes;
  axlf_section_header section{};
  section.m_sectionKind = IP_LAYOUT;
  section.m_sectionOffset = table;
  section.m_sectionSize = table_bytes;
  ip_layout layout{};
  layout.m_count = units;
  ip_data unit{};
  unit.m_type = IP_KERNEL;
  std::memcpy(unit.m_name, "fusion:fusion_1", 16);

  std::string bytes;
  Append(bytes, header, offsetof(axlf, m_sections));
  for (std::uint32_t i = 0; i < sections; ++i) Append(bytes, section);
  Append(bytes, layout, offsetof(ip_layout, m_ip_data));
  for (std::int32_t i = 0; i < units; ++i) Append(bytes, unit);
  return bytes;
}

TEST(XclbinTest, NamesItsComputeUnits) {
  const auto summary = ParseXclbin(Xclbin(1, 2));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_THAT(summary->units, ::testing::ElementsAre("fusion:fusion_1", "fusion:fusion_1"));
}

TEST(XclbinTest, SectionsThatLieOverEachOtherMakeNoMillionsOfUnits) {
  EXPECT_TRUE(ParseXclbin(Xclbin(2, 512)).ok());
  const absl::Status status = ParseXclbin(Xclbin(256, 12'000)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than 1024 compute units"));
}

TEST(XclbinTest, ACutFileIsTruncated) {
  const std::string whole = Xclbin(1, 2);
  for (std::size_t size = 8; size < whole.size(); ++size) {
    EXPECT_EQ(ParseXclbin(whole.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
}

}  // namespace
}  // namespace tributary::accelerator
