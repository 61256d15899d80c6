#include "core/radio/modulation.h"

#include <gtest/gtest.h>

namespace tributary::radio {
namespace {

TEST(ModulationTest, NamesEachAsTheReportDoes) {
  EXPECT_EQ(ModulationName(Modulation::kBpsk), "BPSK");
  EXPECT_EQ(ModulationName(Modulation::kWbfm), "WBFM");
}

}  // namespace
}  // namespace tributary::radio
