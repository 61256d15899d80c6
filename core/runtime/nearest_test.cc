#include "core/runtime/nearest.h"

#include <gtest/gtest.h>

namespace tributary::runtime {
namespace {

TEST(NearestTest, CountsSwappedNeighboursAsOneFaultAndStaysSilentWhereNothingIsNear) {
  EXPECT_EQ(Nearest("ab", {"ba"}), "ba");
  EXPECT_EQ(Nearest("watch", {"wtach", "match"}), "wtach") << "the first of two that are as near";
  EXPECT_EQ(Nearest("x", {"y"}), "");
  EXPECT_EQ(Nearest("", {"run"}), "");
  EXPECT_EQ(Nearest("rollbakc", {"rollback"}), "rollback");
  EXPECT_EQ(Nearest("self_supervised", {"self_supervision"}), "") << "three edits, however long the word";
  EXPECT_EQ(Nearest("evaluate", {"validate", "run"}), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'a'), {"run"}), "");
}

}  // namespace
}  // namespace tributary::runtime
