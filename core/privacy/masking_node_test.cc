#include "core/privacy/masking_node.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::privacy {
namespace {

constexpr const char* kRun = "run";

// Two nodes; the test passes their messages on.
class MaskingPartyTest : public ::testing::Test {
 protected:
  void Advertise(std::uint32_t round) { roster_ = {*east_.Keys(kRun, round), *west_.Keys(kRun, round)}; }
  std::vector<SealedShare> ShareWith(MaskingParty& party, std::uint32_t round) {
    const auto shares = (*party.Find(kRun, round))->Share(roster_, 2);
    EXPECT_TRUE(shares.ok()) << shares.status();
    return *shares;
  }

  MaskingParty east_{"east"}, west_{"west"};
  MaskingRoster roster_;
};

TEST_F(MaskingPartyTest, GivesTheSameAnswersWithinARoundAndOthersInTheNext) {
  Advertise(1);
  EXPECT_EQ(*east_.Keys(kRun, 1), roster_[0]);
  const std::vector<SealedShare> shares = ShareWith(east_, 1);
  EXPECT_EQ(ShareWith(east_, 1)[0].ciphertext, shares[0].ciphertext);
  // Other lists would get other shares of the same secrets.
  const MaskingRoster larger = {roster_[0], *MaskingParty("south").Keys(kRun, 1), roster_[1]};
  EXPECT_EQ((*east_.Find(kRun, 1))->Share(larger, 2).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto next = east_.Keys(kRun, 2);
  EXPECT_NE(next->cipher_key, roster_[0].cipher_key);
  EXPECT_NE(next->mask_key, roster_[0].mask_key);
}

TEST_F(MaskingPartyTest, MasksOnceAndKnowsWhenItCan) {
  Advertise(1);
  MaskingNode& node = **east_.Find(kRun, 1);
  EXPECT_FALSE(node.can_mask());
  ShareWith(east_, 1);
  EXPECT_TRUE(node.can_mask());
  std::array<std::int32_t, 4> words{};
  EXPECT_FALSE(node.Mask({}, words).ok());  // too few shares: still to be masked
  EXPECT_TRUE(node.can_mask());
  ASSERT_TRUE(node.Mask(ShareWith(west_, 1), words).ok());
  EXPECT_FALSE(node.can_mask());
  EXPECT_EQ(node.Mask(ShareWith(west_, 1), words).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MaskingPartyTest, HasNoPartInARoundWhoseKeysItDoesNotHave) {
  Advertise(1);
  EXPECT_TRUE(absl::IsNotFound(MaskingParty("east").Find(kRun, 1).status()));  // it has restarted
  EXPECT_TRUE(absl::IsNotFound(east_.Find("other", 1).status()));
  ASSERT_TRUE(east_.Keys(kRun, 2).ok());  // the next round has begun
  EXPECT_TRUE(absl::IsNotFound(east_.Find(kRun, 1).status()));
  EXPECT_TRUE(east_.Find(kRun, 2).ok());
}

}  // namespace
}  // namespace tributary::privacy
