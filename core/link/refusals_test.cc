#include "core/link/refusals.h"

#include <gtest/gtest.h>

#include "core/wire/peer.h"

namespace tributary::link {
namespace {

class RefusalsTest : public ::testing::Test {
 protected:
  static v1::Refusal Refusal(v1::RefusalReason reason, int subjects = 0) {
    v1::Refusal refusal;
    refusal.set_reason(reason);
    for (int i = 0; i < subjects; ++i) refusal.add_subjects(static_cast<std::uint32_t>(i));
    return refusal;
  }
  Refusals refusals_;
};

TEST_F(RefusalsTest, CountsAWholeFrameWithItsTuples) {
  refusals_.Count(Refusal(v1::REFUSAL_REASON_LATE), Spool::HeldFrame{16, false}, 0);
  EXPECT_EQ(refusals_.counters().frames[v1::REFUSAL_REASON_LATE], 1u);
  EXPECT_EQ(refusals_.counters().tuples[v1::REFUSAL_REASON_LATE], 16u);
}

TEST_F(RefusalsTest, CountsSingleTuplesWithoutTheFrame) {
  refusals_.Count(Refusal(v1::REFUSAL_REASON_GATED, 3), std::nullopt, 0);
  EXPECT_EQ(refusals_.counters().frames[v1::REFUSAL_REASON_GATED], 0u);
  EXPECT_EQ(refusals_.counters().tuples[v1::REFUSAL_REASON_GATED], 3u);
}

TEST_F(RefusalsTest, CountsNoMoreTuplesThanTheFrameHad) {
  refusals_.Count(Refusal(v1::REFUSAL_REASON_GATED, 1000), Spool::HeldFrame{16, false}, 0);
  EXPECT_EQ(refusals_.counters().tuples[v1::REFUSAL_REASON_GATED], 16u);
}

TEST_F(RefusalsTest, DoesNotCallAResentFrameThatHadArrivedLost) {
  const Spool::HeldFrame resent{16, true};
  EXPECT_FALSE(refusals_.Count(Refusal(v1::REFUSAL_REASON_DUPLICATE), resent, 0));
  EXPECT_EQ(refusals_.counters().frames[v1::REFUSAL_REASON_DUPLICATE], 0u);
  EXPECT_EQ(refusals_.counters().resent_duplicate_frames, 1u);
  EXPECT_EQ(refusals_.counters().resent_duplicate_tuples, 16u);
}

TEST_F(RefusalsTest, LogsEachReasonOnceInTenSeconds) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  const Spool::HeldFrame frame{1, false};
  EXPECT_TRUE(refusals_.Count(Refusal(v1::REFUSAL_REASON_LATE), frame, 5));
  EXPECT_FALSE(refusals_.Count(Refusal(v1::REFUSAL_REASON_LATE), frame, 6));
  EXPECT_TRUE(refusals_.Count(Refusal(v1::REFUSAL_REASON_SHAPE), frame, 6));
  EXPECT_TRUE(refusals_.Count(Refusal(v1::REFUSAL_REASON_LATE), frame, 5 + 10 * kSecondNs));
  EXPECT_EQ(refusals_.counters().frames[v1::REFUSAL_REASON_LATE], 3u);
}

TEST(PeerTextTest, IsShortAndPrintable) {
  EXPECT_EQ(wire::PeerText("a\nb\x1b[2J"), "a\\nb\\x1b[2J");
  EXPECT_EQ(wire::PeerText(wire::PeerText("\x1b[2J\\")), "\\x1b[2J\\") << "escaped once";
  EXPECT_EQ(wire::PeerText("site \"lab\" isn't known"), "site \"lab\" isn't known");
  EXPECT_LE(wire::PeerText(std::string(1'000'000, '\n')).size(), 1000u);
}

}  // namespace
}  // namespace tributary::link
