#include "cli/join/invitation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tributary::cli {
namespace {

const std::string kSecret = "tributary_3fa94c12_" + std::string(64, 'a');
const std::string kCa(64, 'c');

TEST(InvitationTest, IsReadAsItIsWritten) {
  for (const char* address : {"hub:7480", "10.0.0.1:7480", "[2001:db8::1]:7480"}) {
    const Invitation written{kSecret, kCa, address};
    const auto read = ParseInvitation(written.Text());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->token, kSecret);
    EXPECT_EQ(read->ca_sha256, kCa);
    EXPECT_EQ(read->address, address);
  }
}

TEST(InvitationTest, ADamagedOneIsRefusedAndNotRepeated) {
  const std::string good = Invitation{kSecret, kCa, "hub:7480"}.Text();
  std::vector<std::string> damaged = {"",
                                      "hub:7480",
                                      kSecret,
                                      kSecret + "@hub:7480",
                                      kSecret + "." + kCa,
                                      kSecret + "." + kCa + "@",
                                      kSecret + "." + kCa + "@hub",
                                      kSecret + "." + kCa + "@hub:0",
                                      kSecret + "." + kCa + "@unix:/run/hub",
                                      kSecret + "." + kCa + "@hub:7480\r\nHost: evil",
                                      kSecret + "\r\n." + kCa + "@hub:7480",
                                      kSecret + "." + std::string(64, 'C') + "@hub:7480",
                                      kSecret + "@." + kCa + "hub:7480"};
  for (std::size_t end = 0; end + 5 < good.size(); ++end) damaged.push_back(good.substr(0, end));
  for (const std::string& text : damaged) {
    const auto read = ParseInvitation(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(std::string(read.status().message()), ::testing::Not(::testing::HasSubstr("aaaa")));
  }
}

}  // namespace
}  // namespace tributary::cli
