// Places of sources: given back by those who leave, and never those of the site's own leaves.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

class SourcePlacesTest : public FusionFixture {
 protected:
  static SourceDeclaration Other(std::size_t i) { return {"other " + std::to_string(i), 2, {"north"}}; }
  // Takes every place that the leaves leave.
  void Fill() {
    for (std::size_t i = 0; i < FusionEngine::kMaxSources - site_.leaves.size(); ++i) {
      const auto handle = engine_->Join(Other(i));
      ASSERT_TRUE(handle.ok()) << i << handle.status();
      others_.push_back(*handle);
    }
  }
  std::vector<SourceHandle> others_;
};

TEST_F(SourcePlacesTest, ASourceThatHasLeftGivesItsPlaceToANewOne) {
  Start();
  Fill();
  EXPECT_EQ(engine_->Join(Other(1000)).status().code(), absl::StatusCode::kResourceExhausted);
  engine_->Leave(others_[7]);
  const auto joined = engine_->Join(Other(1000));
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(*joined, others_[7]);
  EXPECT_EQ(engine_->sources()[*joined].name, "other 1000");
}

TEST_F(SourcePlacesTest, ALeafOfTheSiteAlwaysHasAPlace) {
  StartEmpty();
  Fill();
  for (const std::string& leaf : site_.leaves) Join(leaf, {leaf});
  engine_->Leave(handles_.at("north"));
  EXPECT_FALSE(engine_->Join(Other(1000)).ok()) << "the leaf comes again";
}

TEST_F(SourcePlacesTest, ThePlaceOfASourceWithFramesInAWaitingSlotIsKept) {
  Start();
  Fill();
  const auto frame = Frame(kEpoch, {1});
  ASSERT_TRUE(engine_->Offer(others_[3], frame, now_, out_).accepted);
  engine_->Leave(others_[3]);
  EXPECT_FALSE(engine_->Join(Other(1000)).ok());
  engine_->Drain(now_, out_);
  ASSERT_TRUE(engine_->Join(Other(1000)).ok());
}

TEST_F(SourcePlacesTest, ANewSourceIsNotTakenForTheOneWhosePlaceItHas) {
  Start();
  Fill();
  ASSERT_TRUE(engine_->Offer(others_[3], Frame(kEpoch, {1}), now_, out_).accepted);
  engine_->Drain(now_, out_);
  engine_->Leave(others_[3]);
  const auto joined = engine_->Join(Other(1000));
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(engine_->sources()[*joined].frames_accepted, 0u);
  EXPECT_EQ(ReasonOf(engine_->Offer(*joined, Frame(kEpoch, {1}), now_, out_)), RefusalReason::kLate)
      << "not a duplicate";
}

TEST_F(SourcePlacesTest, ASourceThatTwoStreamsReportStaysUntilBothHaveLeft) {
  Start();
  Fill();
  ASSERT_TRUE(engine_->Join(Other(5)).ok());
  engine_->Leave(others_[5]);
  EXPECT_FALSE(engine_->Join(Other(1000)).ok());
  engine_->Leave(others_[5]);
  EXPECT_TRUE(engine_->Join(Other(1000)).ok());
}

TEST_F(SourcePlacesTest, JoinsAllSourcesOfANodeOrNone) {
  Start();
  const std::size_t before = engine_->sources().size();
  const std::vector<SourceDeclaration> node = {{"a", 2, {"north"}}, {"b", 2, {"attic"}}};
  EXPECT_EQ(engine_->Join(node).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->sources().size(), before);
}

}  // namespace
}  // namespace tributary::fusion
