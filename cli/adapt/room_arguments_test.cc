#include "cli/adapt/room_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RoomArgumentsTest, ASizeIsThreeNumbers) {
  RoomArguments room;
  EXPECT_THAT(ReadRoomSize("12x8.5x3", room.plan), IsEmpty());
  EXPECT_EQ(room.plan.width_m, 12);
  EXPECT_EQ(room.plan.depth_m, 8.5);
  EXPECT_EQ(room.plan.height_m, 3);
  for (const char* wrong :
       {"", "12x8", "12x8x3x1", "12,8,3", "ax8x3", "nanx8x3", "infx8x3", "1x8x3", "12x99x3", "12x8x1"}) {
    EXPECT_THAT(ReadRoomSize(wrong, room.plan), HasSubstr("write width x depth x height")) << wrong;
  }
  EXPECT_EQ(room.plan.width_m, 12);
}

TEST(RoomArgumentsTest, APanelIsAWallAndTwoNumbers) {
  RoomArguments room;
  EXPECT_THAT(ReadPanelPlace("north,-1.5,2.25", room), IsEmpty());
  EXPECT_THAT(ReadPanelPlace("south,0,2", room), IsEmpty());
  EXPECT_THAT(room.walls, testing::ElementsAre(scene::Wall::kNorth, scene::Wall::kSouth));
  EXPECT_EQ(room.plan.panels[2].along_m, -1.5);
  EXPECT_EQ(room.plan.panels[2].height_m, 2.25);
  EXPECT_THAT(ReadPanelPlace("north,1,2", room), HasSubstr("two panels on the north wall"));
  for (const char* wrong : {"", "up,0,2", "east", "east,0", "east,a,2", "east,0,nan", "east,0,2,1"}) {
    EXPECT_THAT(ReadPanelPlace(wrong, room), HasSubstr("write WALL,ALONG,HEIGHT")) << wrong;
  }
}

TEST(RoomArgumentsTest, PanelsHangInTheRoom) {
  RoomArguments room;
  EXPECT_THAT(CheckRoom(room), IsEmpty());
  room.plan.panels[1].along_m = 5.5;
  EXPECT_THAT(CheckRoom(room), HasSubstr("the east panel at 5.5 m along its wall"));
  room.plan.panels[1] = {0, 3.5};
  EXPECT_THAT(CheckRoom(room), HasSubstr("the ceiling is at 3 m"));
}

}  // namespace
}  // namespace tributary::cli
