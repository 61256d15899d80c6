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
  std::optional<WireFault> Read(FrameLimits limits = {{2}, 2, 16}) {
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
  EXPECT_THAT(Read({{3}, 2, 16})->message, HasSubstr("means: 6 values, expected 9"));
}

TEST_F(FrameConversionTest, RefusesContributorsBeyondTheSourcesLeaves) {
  wire_.set_contributors(1, 4);
  const auto fault = Read();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->reason, v1::REFUSAL_REASON_SHAPE);
  EXPECT_THAT(fault->message, HasSubstr("index 1"));
  EXPECT_FALSE(Read({{2}, 64, 16}).has_value());
}

TEST_F(FrameConversionTest, RefusesMoreSubjectsThanAreAdmitted) {
  const auto fault = Read({{2}, 2, 2});
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->reason, v1::REFUSAL_REASON_TOO_LARGE);
  EXPECT_EQ(fault->message, "subjects: 3 in one frame, allowed are 2");
}

TEST_F(FrameConversionTest, KeepsClassProbabilitiesAndJudgesNone) {
  estimate::TupleFrame classes;
  classes.set_shape({.dimension = 0, .classes = 3});
  classes.subjects = {4, 5};
  classes.log_probabilities = {0, -std::numeric_limits<float>::infinity(), -7, 9, 9, 9};
  FrameToWire(classes, wire_);
  ASSERT_FALSE(Read({{0, 3}, 2, 16}).has_value());
  EXPECT_EQ(read_.shape(), classes.shape());
  EXPECT_EQ(read_.log_probabilities, classes.log_probabilities);
  EXPECT_TRUE(read_.means.empty());
  EXPECT_TRUE(read_.cholesky.empty());
}

TEST_F(FrameConversionTest, RefusesTheFieldsOfTheOtherKind) {
  wire_.add_log_probabilities(0);
  EXPECT_THAT(Read()->message, HasSubstr("log_probabilities: 1 values, expected 0"));
  FrameToWire(frame_, wire_);
  EXPECT_THAT(Read({{0, 2}, 2, 16})->message, HasSubstr("means: 6 values, expected 0"));
  wire_.clear_means();
  wire_.clear_cholesky();
  EXPECT_THAT(Read({{0, 2}, 2, 16})->message, HasSubstr("log_probabilities: 0 values, expected 6"));
  for (int i = 0; i < 3 * 1000; ++i) wire_.add_log_probabilities(-1);
  EXPECT_THAT(Read({{0, 256}, 2, 16})->message, HasSubstr("log_probabilities: 3000 values, expected 768"));
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
  SiteDescription site_{.name = "lab", .leaves = {"a", "b"}, .classes = {}, .slot = {}};
  WatchedSlot slot_;
};

TEST_F(SlotConversionTest, KeepsEverything) {
  ASSERT_TRUE(SlotFromWire(wire_, site_, slot_).ok());
  EXPECT_EQ(slot_.epoch, 7u);
  EXPECT_EQ(slot_.means, (std::vector<float>{1, 2}));
  EXPECT_EQ(slot_.contributors, std::vector<std::uint64_t>{3});
  EXPECT_EQ(slot_.contributor_words, 1u);
  EXPECT_EQ(slot_.skipped_slots, 4u);
}

TEST_F(SlotConversionTest, NamesTheFieldWhoseLengthDoesNotFit) {
  wire_.mutable_slot()->clear_consistency();
  EXPECT_THAT(std::string(SlotFromWire(wire_, site_, slot_).message()),
              HasSubstr("consistency: 0 values, expected 1"));
  SiteDescription large = site_;
  large.leaves.resize(65);
  EXPECT_THAT(std::string(SlotFromWire(wire_, large, slot_).message()), HasSubstr("contributors"));
  wire_.mutable_slot()->set_dimension(9);
  EXPECT_EQ(SlotFromWire(wire_, site_, slot_).code(), absl::StatusCode::kDataLoss);
  wire_.mutable_slot()->set_dimension(0);
  EXPECT_THAT(std::string(SlotFromWire(wire_, site_, slot_).message()), HasSubstr("expected 1, 2 or 3"));
}

TEST_F(SlotConversionTest, TakesTheClassesOfASiteThatHasThem) {
  site_.classes = {"BPSK", "QPSK"};
  EXPECT_THAT(std::string(SlotFromWire(wire_, site_, slot_).message()),
              HasSubstr("dimension: 2, expected 0"));
  v1::FusedSlot& slot = *wire_.mutable_slot();
  slot.clear_dimension();
  EXPECT_THAT(std::string(SlotFromWire(wire_, site_, slot_).message()),
              HasSubstr("means: 2 values, expected 0"));
  slot.clear_means();
  slot.clear_cholesky();
  slot.add_log_probabilities(-0.5f);
  EXPECT_THAT(std::string(SlotFromWire(wire_, site_, slot_).message()),
              HasSubstr("log_probabilities: 1 values, expected 2"));
  slot.add_log_probabilities(-1);
  ASSERT_TRUE(SlotFromWire(wire_, site_, slot_).ok());
  EXPECT_EQ(slot_.log_probabilities, (std::vector<float>{-0.5f, -1}));
  EXPECT_EQ(slot_.classes, 2u);
  slot.add_velocities(1);
  EXPECT_THAT(std::string(SlotFromWire(wire_, site_, slot_).message()), HasSubstr("velocities"));
}

TEST(SiteDescriptionTest, SurvivesTheWire) {
  const SiteDescription site{.name = "air",
                             .leaves = {"roof"},
                             .classes = {"BPSK", "QPSK"},
                             .slot = *estimate::SlotLength::FromMs(10)};
  v1::WatchResponse wire;
  DescriptionToWire(site, wire);
  const auto read = DescriptionFromWire(wire);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, site.name);
  EXPECT_EQ(read->leaves, site.leaves);
  EXPECT_EQ(read->classes, site.classes);
  EXPECT_EQ(read->slot, site.slot);
  ClearDescription(wire);
  EXPECT_EQ(wire.ByteSizeLong(), 0u);
}

TEST(SiteDescriptionTest, OfAnAggregatorIsNotBelieved) {
  v1::WatchResponse wire;
  wire.add_classes("one");
  EXPECT_THAT(std::string(DescriptionFromWire(wire).status().message()), HasSubstr("classes: 1 given"));
  for (int i = 0; i < 1000; ++i) wire.add_classes();
  EXPECT_EQ(DescriptionFromWire(wire).status().code(), absl::StatusCode::kDataLoss);
  wire.clear_classes();
  wire.set_slot_ns(3);
  EXPECT_THAT(std::string(DescriptionFromWire(wire).status().message()), HasSubstr("slot_ns: 3"));
  wire.clear_slot_ns();
  const auto fault = [&wire] { return std::string(DescriptionFromWire(wire).status().message()); };
  wire.set_site("hall\x1b[2J");
  EXPECT_THAT(fault(), HasSubstr("site: control characters"));
  wire.set_site("hall");
  wire.add_leaves("roof");
  wire.add_leaves("roof");
  EXPECT_THAT(fault(), HasSubstr("leaves: \"roof\" is listed twice"));
  wire.clear_leaves();
  wire.add_classes("BPSK");
  wire.add_classes("\x15");
  EXPECT_THAT(fault(), HasSubstr("classes: control characters"));
}

}  // namespace
}  // namespace tributary::wire
