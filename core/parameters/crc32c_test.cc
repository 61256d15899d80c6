#include "core/parameters/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary::parameters {
namespace {

// RFC 3720, B.4.
TEST(Crc32cTest, AgreesWithTheStandardsExamples) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending.push_back(c);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

// Whatever path the length takes (three streams, words, bytes), byte by byte gives the same.
TEST(Crc32cTest, GoesOnFromWhatWasBefore) {
  std::string bytes;
  for (int i = 0; i < 10'007; ++i) bytes.push_back(static_cast<char>(i * 31 + i / 251));
  std::uint32_t byte_by_byte = 0;
  for (const char& c : bytes) byte_by_byte = Crc32c({&c, 1}, byte_by_byte);
  EXPECT_EQ(Crc32c(bytes), byte_by_byte);
  const std::string_view view = bytes;
  EXPECT_EQ(Crc32c(view.substr(4099), Crc32c(view.substr(0, 4099))), byte_by_byte);
}

}  // namespace
}  // namespace tributary::parameters
