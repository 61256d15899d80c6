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
    const auto shares = party.Share(kRun, round, roster_, 2);
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
  EXPECT_EQ(east_.Share(kRun, 1, larger, 2).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto next = east_.Keys(kRun, 2);
  EXPECT_NE(next->cipher_key, roster_[0].cipher_key);
  EXPECT_NE(next->mask_key, roster_[0].mask_key);
}

TEST_F(MaskingPartyTest, MasksOnceAndKnowsWhenItCan) {
  Advertise(1);
  EXPECT_TRUE(east_.HasKeys(kRun, 1));
  EXPECT_FALSE(east_.CanMask(kRun, 1));
  ShareWith(east_, 1);
  EXPECT_TRUE(east_.CanMask(kRun, 1));
  std::array<std::int32_t, 4> words{};
  EXPECT_FALSE(east_.Mask(kRun, 1, {}, words).ok());  // too few shares: still to be masked
  EXPECT_TRUE(east_.CanMask(kRun, 1));
  ASSERT_TRUE(east_.Mask(kRun, 1, ShareWith(west_, 1), words).ok());
  EXPECT_FALSE(east_.CanMask(kRun, 1));
  EXPECT_EQ(east_.Mask(kRun, 1, ShareWith(west_, 1), words).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MaskingPartyTest, HasNoPartInARoundWhoseKeysItDoesNotHave) {
  Advertise(1);
  MaskingParty restarted("east");
  std::array<std::int32_t, 4> words{};
  const std::vector<std::string> both = {"east", "west"};
  EXPECT_TRUE(absl::IsNotFound(restarted.Share(kRun, 1, roster_, 2).status()));
  EXPECT_TRUE(absl::IsNotFound(restarted.Mask(kRun, 1, {}, words)));
  EXPECT_TRUE(absl::IsNotFound(restarted.Reveal(kRun, 1, both, {}).status()));
  ShareWith(east_, 1);
  ASSERT_TRUE(east_.Keys(kRun, 2).ok());  // the next round has begun
  EXPECT_TRUE(absl::IsNotFound(east_.Reveal(kRun, 1, both, {}).status()));
  EXPECT_TRUE(absl::IsNotFound(east_.Share("other", 2, roster_, 2).status()));
}

}  // namespace
}  // namespace tributary::privacy
