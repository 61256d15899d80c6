#include "cli/watch/slot_option.h"

#include <gtest/gtest.h>

namespace tributary::cli {
namespace {

class SlotOptionTest : public ::testing::Test {
 protected:
  SlotOptionTest() {
    Command command(app_);
    AddSlotOption(command, slot_);
  }

  CLI::App app_;
  estimate::SlotLength slot_;
};

TEST_F(SlotOptionTest, IsThePilotSlotUnlessGiven) {
  app_.parse("", false);
  EXPECT_EQ(slot_, estimate::SlotLength());
}

TEST_F(SlotOptionTest, TakesALengthInMilliseconds) {
  app_.parse("--slot-ms 16.666667", false);
  EXPECT_EQ(slot_.ns(), 16'666'667);
}

TEST_F(SlotOptionTest, RefusesWhatNoSiteCanHave) {
  for (const char* text : {"0", "-1", "0.009", "nan", "inf", "10ms", "4000000"}) {
    EXPECT_THROW(app_.parse(std::string("--slot-ms=") + text, false), CLI::ValidationError) << text;
  }
}

}  // namespace
}  // namespace tributary::cli
