#include "core/wire/kept_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {
namespace {

// The last of `frames` frames is large.
std::string Message(int frames) {
  v1::ReportRequest message;
  for (int i = 0; i < frames; ++i) message.add_frames()->set_sequence(1);
  message.mutable_frames(frames - 1)->mutable_means()->Resize(1'000, 0);
  return message.SerializeAsString();
}

TEST(KeptRoomTest, BoundsWhatMessagesThatGrowInTurnLeaveBehind) {
  v1::ReportRequest bounded, reused;
  KeptRoom room;
  std::size_t most = 0;
  for (int frames = 1; frames <= 200; ++frames) {
    const std::string bytes = Message(frames);
    ASSERT_TRUE(reused.ParseFromString(bytes));
    ASSERT_TRUE(bounded.ParseFromString(bytes));
    if (room.IsTooMuchWith(bytes.size())) bounded = v1::ReportRequest();
    most = std::max(most, bounded.SpaceUsedLong());
  }
  EXPECT_GT(reused.SpaceUsedLong(), 200 * 4'000u);
  EXPECT_LT(most, 100'000u);
}

TEST(KeptRoomTest, LargeMessagesLeaveNothing) {
  KeptRoom room;
  EXPECT_FALSE(room.IsTooMuchWith(KeptRoom::kMostBytes));
  EXPECT_TRUE(room.IsTooMuchWith(1));
  EXPECT_TRUE(room.IsTooMuchWith(KeptRoom::kMostBytes + 1));
  EXPECT_FALSE(room.IsTooMuchWith(400));
}

}  // namespace
}  // namespace tributary::wire
