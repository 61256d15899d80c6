#include "cli/table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::cli {
namespace {

TEST(TableTest, IsAsWideAsItsLongestCells) {
  Table table({Left("RUN"), Right("ROUNDS"), Left("MESSAGE")});
  table.Add("letters", "12/20", "waits for nodes");
  table.Add("a", 3, "");
  EXPECT_EQ(table.Text(),
            "RUN     ROUNDS  MESSAGE\n"
            "letters  12/20  waits for nodes\n"
            "a            3\n");
}

TEST(TableTest, EscapesAndShortensWhatAPeerSent) {
  Table table({Left("NODE")});
  table.Add("\x1b[2Jnorth\n");
  table.Add(std::string(10'000, 'x'));
  EXPECT_EQ(table.Text().find('\x1b'), std::string::npos);
  EXPECT_NE(table.Text().find("\\x1b[2Jnorth\\n\n"), std::string::npos);
  EXPECT_LT(table.Text().size(), 1'000u);
}

TEST(TableTest, CountsRowsBeyondWhatAnybodyReads) {
  Table table({Left("NODE"), Left("STATE")});
  for (std::size_t i = 0; i < Table::kMaxRows + 7; ++i) table.Add("oak", "away");
  const std::string text = table.Text();
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')), 1 + Table::kMaxRows + 1);
  EXPECT_TRUE(text.ends_with("\n7 more\n"));
}

TEST(TableTest, OneLongCellWidensNoOtherRowBeyondALongName) {
  Table table({Left("NODE"), Left("STATE")});
  table.Add(std::string(10'000, 'x'), "away");
  table.Add("oak", "away");
  EXPECT_TRUE(table.Text().ends_with("\noak" + std::string(Table::kMaxWidth - 3 + 1, ' ') + "away\n"));
}

TEST(TableTest, KeepsItsDeclaredWidthsWhereRowsComeOneByOne) {
  const Table table({Right("ROUND", 7), Right("LOSS", 6)});
  EXPECT_EQ(table.Heading(), "  ROUND   LOSS");
  EXPECT_EQ(table.Row(1, "0.5"), "      1    0.5");
  EXPECT_EQ(table.Row(12'345'678, "0.5"), "12345678    0.5") << "a longer cell moves the rest";
}

}  // namespace
}  // namespace tributary::cli
