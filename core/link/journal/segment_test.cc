#include "core/link/journal/segment.h"

#include "gtest/gtest.h"

namespace tributary::link {
namespace {

constexpr JournalIdentity kOurs = {'o', 'u', 'r', 's'};

std::string ThreeRecords() {
  std::string bytes = SegmentHeader(kOurs);
  AppendRecord({"first", 1}, bytes);
  AppendRecord({"second", 2}, bytes);
  AppendRecord({"third", 3}, bytes);
  return bytes;
}

TEST(SegmentTest, GivesBackWhatWasWritten) {
  const std::string bytes = ThreeRecords();
  const SegmentContent content = ReadSegment(bytes, kOurs);
  EXPECT_EQ(content.state, SegmentState::kSound);
  ASSERT_EQ(content.records.size(), 3u);
  EXPECT_EQ(content.records[1].payload, "second");
  EXPECT_EQ(content.records[2].units, 3u);
  EXPECT_EQ(content.sound_bytes, bytes.size());
}

TEST(SegmentTest, TrustsOnlyWholeRecordsHoweverItIsCut) {
  const std::string bytes = ThreeRecords();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const SegmentContent content = ReadSegment(std::string_view(bytes).substr(0, length), kOurs);
    if (length < kSegmentHeaderBytes) {
      EXPECT_EQ(content.state, SegmentState::kTorn) << length;
      EXPECT_EQ(content.sound_bytes, 0u) << length;
    } else {
      EXPECT_LT(content.records.size(), 3u) << length;
      EXPECT_EQ(content.state == SegmentState::kSound, content.sound_bytes == length) << length;
    }
  }
}

TEST(SegmentTest, FindsEachFlippedBit) {
  const std::string bytes = ThreeRecords();
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const SegmentContent content = ReadSegment(damaged, kOurs);
    EXPECT_NE(content.state, SegmentState::kSound) << bit;
    EXPECT_LT(content.records.size(), 3u) << bit;
    for (const Record& record : content.records) {
      EXPECT_TRUE(record.payload == "first" || record.payload == "second") << bit;
    }
  }
}

TEST(SegmentTest, DoesNotTakeZerosForARecord) {
  const std::string bytes = ThreeRecords() + std::string(100, '\0');
  const SegmentContent content = ReadSegment(bytes, kOurs);
  EXPECT_EQ(content.state, SegmentState::kTorn);
  EXPECT_EQ(content.records.size(), 3u);
}

TEST(SegmentTest, KnowsAnotherVersionAndAnotherOwner) {
  std::string bytes = ThreeRecords();
  EXPECT_EQ(ReadSegment(bytes, JournalIdentity{'t'}).state, SegmentState::kOtherIdentity);
  bytes[8] = 2;
  const SegmentContent content = ReadSegment(bytes, kOurs);
  EXPECT_EQ(content.state, SegmentState::kOtherVersion);
  EXPECT_EQ(content.version, 2u);
  EXPECT_TRUE(content.records.empty());
}

TEST(SegmentTest, TellsWhoseItIsIfThisReleaseWroteIt) {
  const std::string bytes = ThreeRecords();
  EXPECT_EQ(IdentityOfSegment(bytes), kOurs);
  for (std::size_t i = 0; i < kSegmentHeaderBytes; ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(IdentityOfSegment(damaged)) << i;
    EXPECT_FALSE(IdentityOfSegment(std::string_view(bytes).substr(0, i))) << i;
  }
}

TEST(SegmentTest, BoundsTheLengthThatARecordDeclares) {
  std::string bytes = SegmentHeader(kOurs);
  bytes += std::string(12, '\xff');
  EXPECT_EQ(ReadSegment(bytes, kOurs).state, SegmentState::kTorn);
  EXPECT_EQ(ReadSegment(bytes, kOurs).sound_bytes, kSegmentHeaderBytes);
}

}  // namespace
}  // namespace tributary::link
