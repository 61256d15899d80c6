#include "core/recordings/labelled_positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::recordings {
namespace {

using ::testing::HasSubstr;

std::string RefusedPositions(std::string_view csv) {
  const auto positions = ParsePositions(csv);
  EXPECT_EQ(positions.status().code(), absl::StatusCode::kInvalidArgument) << csv;
  return std::string(positions.status().message());
}

TEST(PositionsTest, AreOnePairALine) {
  const auto positions = ParsePositions("x,y\n1.25,-3.5\r\n 0 , 2e-1 \n\n");
  ASSERT_TRUE(positions.ok()) << positions.status();
  ASSERT_EQ(positions->size(), 2u);
  EXPECT_EQ((*positions)[0].x, 1.25);
  EXPECT_EQ((*positions)[0].y, -3.5);
  EXPECT_EQ((*positions)[1].x, 0);
  EXPECT_EQ((*positions)[1].y, 0.2);
  EXPECT_TRUE(ParsePositions("")->empty());
  EXPECT_TRUE(ParsePositions("x,y\n")->empty());
}

TEST(PositionsTest, RefusalsNameTheLine) {
  EXPECT_THAT(RefusedPositions("1,2\n3;4\n"), HasSubstr("line 2: \"3;4\" is not a position; write x,y"));
  EXPECT_THAT(RefusedPositions("nan,1"), HasSubstr("line 1"));
  EXPECT_THAT(RefusedPositions("1,inf"), HasSubstr("line 1"));
  EXPECT_THAT(RefusedPositions("1,2,3"), HasSubstr("line 1"));
  EXPECT_THAT(RefusedPositions("1,2\n\n3,4"), HasSubstr("line 2"));
  EXPECT_THAT(RefusedPositions("1,2\nx,y"), HasSubstr("line 2"));
  EXPECT_LT(RefusedPositions(std::string(100'000, '1')).size(), 300u);
}

}  // namespace
}  // namespace tributary::recordings
