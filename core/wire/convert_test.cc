#include "core/wire/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tributary::wire {
namespace {

using ::testing::HasSubstr;

class FrameConversionTest : public ::testing::Test {
 protected:
  FrameConversionTest() {
    frame_.sequence = 5;
    frame_.epoch = 3'590'000'000'000;
    frame_.captured_unix_ns = -1;
    frame_.source = 3;
    frame_.revision = 1;
    frame_.subjects = {1, 2, 9};
    frame_.means = {1, 2, 3, 4, 5, std::numeric_limits<float>::quiet_NaN()};
    frame_.cholesky = {1, 0, 1, 1, 0, 1, 2, 0, 2};
    frame_.contributors = {1, 2, 3};
    FrameToWire(frame_, wire_);
  }
  std::optional<WireFault> Read(FrameLimits limits = {2, 2, 16}) {
    return FrameFromWire(wire_, limits, read_);
  }

  estimate::TupleFrame frame_;
  v1::Frame wire_;
  estimate::TupleFrame read_;
};

TEST_F(FrameConversionTest, KeepsEverything) {
  ASSERT_FALSE(Read().has_value());
  EXPECT_EQ(read_.sequence, frame_.sequence);
  EXPECT_EQ(read_.epoch, frame_.epoch);
  EXPECT_EQ(read_.captured_unix_ns, frame_.captured_unix_ns);
  EXPECT_EQ(read_.source, frame_.source);
  EXPECT_EQ(read_.revision, frame_.revision);
  EXPECT_EQ(read_.dimension, 2u);
  EXPECT_EQ(read_.subjects, frame_.subjects);
  EXPECT_EQ(read_.cholesky, frame_.cholesky);
  EXPECT_EQ(read_.contributors, frame_.contributors);
  EXPECT_EQ(read_.means[4], 5);
  EXPECT_TRUE(std::isnan(read_.means[5])) << "the meaning is the engine's to judge";
}

TEST_F(FrameConversionTest, OverwritesReusedMessagesAndFrames) {
  estimate::TupleFrame small;
  small.subjects = {4};
  small.means = {1, 2};
  small.cholesky = {1, 0, 1};
  ASSERT_FALSE(Read().has_value());
  FrameToWire(small, wire_);
  ASSERT_FALSE(Read().has_value());
  EXPECT_EQ(read_.subjects, small.subjects);
  EXPECT_EQ(read_.means, small.means);
  EXPECT_TRUE(read_.contributors.empty());
}

TEST_F(FrameConversionTest, NamesTheFieldWhoseLengthDoesNotFit) {
  wire_.add_means(0);
  auto fault = Read();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->reason, v1::REFUSAL_REASON_SHAPE);
  EXPECT_EQ(fault->message, "means: 7 values, expected 6 (3 subjects of 2 each)");
  FrameToWire(frame_, wire_);
  wire_.mutable_cholesky()->Clear();
  EXPECT_THAT(Read()->message, HasSubstr("cholesky: 0 values, expected 9"));
  FrameToWire(frame_, wire_);
  wire_.add_contributors(1);
  EXPECT_THAT(Read()->message, HasSubstr("contributors: 4 values, expected 3"));
  EXPECT_THAT(Read({3, 2, 16})->message, HasSubstr("means: 6 values, expected 9"));
}

TEST_F(FrameConversionTest, RefusesContributorsBeyondTheSourcesLeaves) {
  wire_.set_contributors(1, 4);
  const auto fault = Read();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->reason, v1::REFUSAL_REASON_SHAPE);
  EXPECT_THAT(fault->message, HasSubstr("index 1"));
  EXPECT_FALSE(Read({2, 64, 16}).has_value());
}

TEST_F(FrameConversionTest, RefusesMoreSubjectsThanAreAdmitted) {
  const auto fault = Read({2, 2, 2});
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->reason, v1::REFUSAL_REASON_TOO_LARGE);
  EXPECT_EQ(fault->message, "subjects: 3 in one frame, allowed are 2");
}

TEST_F(FrameConversionTest, WritesNothingOfARefusedFrame) {
  wire_.add_means(0);
  read_.subjects = {77};
  ASSERT_TRUE(Read().has_value());
  EXPECT_EQ(read_.subjects, std::vector<std::uint32_t>{77});
}

class SlotConversionTest : public ::testing::Test {
 protected:
  SlotConversionTest() {
    v1::FusedSlot& slot = *wire_.mutable_slot();
    slot.set_epoch(7);
    slot.set_dimension(2);
    slot.add_subjects(1);
    for (const float value : {1.0f, 2.0f}) slot.add_means(value);
    for (const float value : {1.0f, 0.0f, 1.0f}) slot.add_cholesky(value);
    slot.add_contributors(3);
    slot.add_consistency(1);
    wire_.set_skipped_slots(4);
  }
  v1::WatchResponse wire_;
  WatchedSlot slot_;
};

TEST_F(SlotConversionTest, KeepsEverything) {
  ASSERT_TRUE(SlotFromWire(wire_, 2, slot_).ok());
  EXPECT_EQ(slot_.epoch, 7u);
  EXPECT_EQ(slot_.means, (std::vector<float>{1, 2}));
  EXPECT_EQ(slot_.contributors, std::vector<std::uint64_t>{3});
  EXPECT_EQ(slot_.contributor_words, 1u);
  EXPECT_EQ(slot_.skipped_slots, 4u);
}

TEST_F(SlotConversionTest, NamesTheFieldWhoseLengthDoesNotFit) {
  wire_.mutable_slot()->clear_consistency();
  EXPECT_THAT(std::string(SlotFromWire(wire_, 2, slot_).message()),
              HasSubstr("consistency: 0 values, expected 1"));
  EXPECT_THAT(std::string(SlotFromWire(wire_, 65, slot_).message()), HasSubstr("contributors"));
  wire_.mutable_slot()->set_dimension(9);
  EXPECT_EQ(SlotFromWire(wire_, 2, slot_).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tributary::wire
