#include "core/runtime/printable.h"

#include <gtest/gtest.h>

namespace tributary::runtime {
namespace {

TEST(PrintableTest, EscapesWhatSteersATerminalAndNothingElse) {
  EXPECT_EQ(Printable("\x1b]0;t\x07\r\x7f"), "\\x1b]0;t\\x07\\x0d\\x7f");
  EXPECT_EQ(Printable("\u009b31m\u202eabc\u2066"), "\\xc2\\x9b31m\\xe2\\x80\\xaeabc\\xe2\\x81\\xa6");
  EXPECT_EQ(Printable("\x9b\xff\xe2\x82"), "\\x9b\\xff\\xe2\\x82") << "no UTF-8";
  EXPECT_EQ(Printable("two\nlines: \"8 × 8\" … C:\\ 東京"), "two\nlines: \"8 × 8\" … C:\\ 東京");
}

TEST(PrintableTest, ChangesNothingTheSecondTime) {
  const std::string once = Printable("\x1b[31m\\");
  EXPECT_EQ(Printable(once), once);
}

TEST(CountedTest, SaysOneThingAndManyThings) {
  EXPECT_EQ(Counted(1, "panel"), "1 panel");
  EXPECT_EQ(Counted(0, "panel"), "0 panels");
  EXPECT_EQ(Counted(12, "panel"), "12 panels");
}

}  // namespace
}  // namespace tributary::runtime
