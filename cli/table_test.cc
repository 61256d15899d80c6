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

TEST(TableTest, NoCellMovesTheColumnsAfterIt) {
  Table table({Left("NODE"), Right("HELD"), Left("PROBLEM"), Left("LAST ERROR")});
  const std::string problem(200, 'p');
  table.Add("oak", std::string(300, '9'), problem, "none");
  table.Add("ash", 1, "-", "disk");
  const std::string text = table.Text();
  const std::size_t first = text.find("\noak") + 1, second = text.find("\nash") + 1;
  EXPECT_NE(text.find(std::string(Table::kMaxWidth - 1, 'p') + "… none\n"), std::string::npos) << text;
  // The two ellipses have three bytes each.
  EXPECT_EQ(text.find("none") - first - 4, text.find("disk") - second) << text;
  EXPECT_EQ(text.find("LAST ERROR"), text.find("disk") - second) << text;
}

TEST(TableTest, ALastCellThatIsCutSaysSo) {
  Table table({Left("NODE"), Left("SOURCES")});
  table.Add("oak", std::string(1'000, 's'));
  EXPECT_TRUE(table.Text().ends_with(std::string(Table::kMaxLastWidth - 1, 's') + "…\n"));
}

TEST(TableTest, ANameOfAnyScriptHasTheWidthThatItShows) {
  Table table({Left("NODE"), Left("STATE")});
  table.Add("köln", "away");
  table.Add("東京", "away");
  table.Add("e\xcc\x81ire", "away");  // an accent by itself
  table.Add("ash", "away");
  EXPECT_EQ(table.Text(), "NODE STATE\nköln away\n東京 away\ne\xcc\x81ire away\nash  away\n");
}

TEST(TableTest, KeepsItsDeclaredWidthsWhereRowsComeOneByOne) {
  const Table table({Right("ROUND", 7), Right("LOSS", 6)});
  EXPECT_EQ(table.Heading(), "  ROUND   LOSS");
  EXPECT_EQ(table.Row(1, "0.5"), "      1    0.5");
  EXPECT_EQ(table.Row(12'345'678, "0.5"), "12345678    0.5") << "a longer cell moves the rest";
}

}  // namespace
}  // namespace tributary::cli
