#include "aggregator/server/quarantine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tributary::server {
namespace {

constexpr const char* kFlood = "192.0.2.1";
constexpr ConnectionFault kFault = ConnectionFault::kStall;

// How long the address stays out if it floods at that second; at most 1,000 s.
std::int64_t StaysOut(Quarantine& quarantine, std::int64_t second) {
  quarantine.KeepOut(kFlood, kFault, second);
  std::int64_t length = 0;
  while (length < 1'000 && quarantine.Holds(kFlood, second + length)) ++length;
  return length;
}

TEST(QuarantineTest, KeepsTheAddressOfAFloodOutForAWhileAndNoOther) {
  Quarantine quarantine({.first_s = 10});
  EXPECT_FALSE(quarantine.Holds(kFlood, 100));
  EXPECT_EQ(StaysOut(quarantine, 100), 10);
  EXPECT_FALSE(quarantine.Holds("192.0.2.2", 100));
}

TEST(QuarantineTest, WhoComesBackAndFloodsAgainStaysOutTwiceAsLongUpToALimit) {
  Quarantine quarantine({.first_s = 10, .longest_s = 30});
  EXPECT_EQ(StaysOut(quarantine, 100), 10);
  EXPECT_EQ(StaysOut(quarantine, 110), 20);
  EXPECT_EQ(StaysOut(quarantine, 149), 30) << "within as long as it stayed out";
  EXPECT_EQ(StaysOut(quarantine, 179), 30);
}

TEST(QuarantineTest, WhoHasKeptThePeaceBeginsAnew) {
  Quarantine quarantine({.first_s = 10, .longest_s = 60});
  EXPECT_EQ(StaysOut(quarantine, 100), 10);
  EXPECT_EQ(StaysOut(quarantine, 110), 20);
  EXPECT_EQ(StaysOut(quarantine, 150), 10);
}

TEST(QuarantineTest, TheConnectionsOfOneFloodCountOnce) {
  Quarantine quarantine({.first_s = 10, .longest_s = 60});
  for (int connection = 0; connection < 60; ++connection) quarantine.KeepOut(kFlood, kFault, 100);
  EXPECT_EQ(StaysOut(quarantine, 101), 10) << "from the last one on";
}

TEST(QuarantineTest, SuspectsForAWhileWhoMayComeInAgain) {
  Quarantine quarantine({.first_s = 10, .suspect_s = 120});
  EXPECT_FALSE(quarantine.Suspects(kFlood, 100));
  quarantine.KeepOut(kFlood, kFault, 100);
  EXPECT_TRUE(quarantine.Suspects(kFlood, 110 + 119));
  EXPECT_FALSE(quarantine.Suspects(kFlood, 110 + 120));
  EXPECT_FALSE(quarantine.Suspects("192.0.2.2", 110));
}

TEST(QuarantineTest, ForgetsAddressesWhoseTimeIsOverWhenThereAreTooMany) {
  Quarantine quarantine({.first_s = 10, .addresses = 100});
  for (int n = 0; n < 101; ++n) quarantine.KeepOut(std::to_string(n), kFault, 100);
  EXPECT_FALSE(quarantine.Holds("100", 100)) << "bounded";
  quarantine.KeepOut("100", kFault, 110);
  EXPECT_TRUE(quarantine.Holds("100", 110));
}

}  // namespace
}  // namespace tributary::server
