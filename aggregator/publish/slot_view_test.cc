#include "aggregator/publish/slot_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::publish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SlotViewTest : public fusion::FusionFixture {
 protected:
  SlotViewTest() {
    site_.tuning.track = true;
    Start();
  }
  // A slot of the subjects 1, 2, 3 at x = 1, 2, 3.
  v1::WatchResponse Seen(SlotView& view) {
    out_.Clear();
    OfferAll(Frame(epoch_++, {1, 2, 3}));
    EXPECT_EQ(out_.size(), 1u);
    view.Write(out_[0], response_);
    return response_;
  }
  std::unique_ptr<SlotView> View(SlotSelection selection) {
    auto view = SlotView::Create(*engine_, std::move(selection));
    EXPECT_TRUE(view.ok()) << view.status();
    return *std::move(view);
  }

  estimate::Epoch epoch_ = kEpoch;
  v1::WatchResponse response_;
};

TEST_F(SlotViewTest, WithoutAChoiceAReaderSeesAllSubjectsAndNoContributions) {
  const v1::WatchResponse seen = Seen(*View({}));
  EXPECT_THAT(seen.slot().subjects(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(seen.has_contributions());
}

TEST_F(SlotViewTest, KeepsTheRowsOfTheChosenSubjects) {
  const v1::WatchResponse seen = Seen(*View({.subjects = {3, 9, 1}, .contributions = {}}));
  EXPECT_THAT(seen.slot().subjects(), ElementsAre(1, 3));
  EXPECT_THAT(seen.slot().means(), ElementsAre(1, 0, 3, 0));
  EXPECT_EQ(seen.slot().cholesky_size(), 6);
  EXPECT_EQ(seen.slot().contributors_size(), 2);
  EXPECT_EQ(seen.slot().consistency_size(), 2);
  EXPECT_EQ(seen.slot().velocities_size(), 4);
}

TEST_F(SlotViewTest, ASlotWithoutTheChosenSubjectsIsEmpty) {
  const v1::WatchResponse seen = Seen(*View({.subjects = {9}, .contributions = {}}));
  EXPECT_THAT(seen.slot().subjects(), IsEmpty());
  EXPECT_THAT(seen.slot().means(), IsEmpty());
  EXPECT_NE(seen.slot().epoch(), 0u);
}

TEST_F(SlotViewTest, TellsTheContributionsOfItsOwnSubjectOnly) {
  const auto two = View({.subjects = {}, .contributions = 2});
  const auto three = View({.subjects = {1}, .contributions = 3});
  const v1::WatchResponse seen = Seen(*three);
  EXPECT_THAT(seen.slot().subjects(), ElementsAre(1));
  ASSERT_TRUE(seen.has_contributions()) << "also of a subject whose row is not shown";
  EXPECT_EQ(seen.contributions().subject(), 3u);
  ASSERT_EQ(seen.contributions().contributions_size(), 4);
  const v1::Contribution& first = seen.contributions().contributions(0);
  EXPECT_EQ(first.fate(), v1::CONTRIBUTION_FATE_FUSED);
  EXPECT_THAT(first.mean(), ElementsAre(3, 0));
  EXPECT_EQ(first.cholesky_size(), 3);
  EXPECT_EQ(Seen(*two).contributions().subject(), 2u);
}

TEST_F(SlotViewTest, ASlotFusedBeforeSomebodyAskedHasNoContributions) {
  out_.Clear();
  OfferAll(Frame(epoch_++, {1}));
  const auto view = View({.subjects = {}, .contributions = 1});
  Seen(*view);
  ASSERT_TRUE(response_.has_contributions());
  estimate::FusedSlot before = out_[0];
  before.contributions.reset();
  view->Write(before, response_);
  EXPECT_FALSE(response_.has_contributions()) << "nothing of the slot before stays";
}

TEST_F(SlotViewTest, AReaderThatGoesCostsNothingAnyMore) {
  View({.subjects = {}, .contributions = 1});
  Seen(*View({}));
  EXPECT_EQ(out_[0].contributions, nullptr);
}

TEST_F(SlotViewTest, RefusesMoreSubjectsAndReadersThanItServes) {
  SlotSelection many;
  many.subjects.resize(SlotSelection::kMostSubjects + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(SlotView::Create(*engine_, many).status()));
  std::vector<std::unique_ptr<SlotView>> readers;
  for (std::size_t i = 0; i < fusion::FusionEngine::kMaxReaders; ++i) {
    readers.push_back(View({.subjects = {}, .contributions = 1}));
  }
  EXPECT_TRUE(
      absl::IsResourceExhausted(SlotView::Create(*engine_, {.subjects = {}, .contributions = 2}).status()));
  readers.pop_back();
  EXPECT_TRUE(SlotView::Create(*engine_, {.subjects = {}, .contributions = 2}).ok());
}

}  // namespace
}  // namespace tributary::publish
