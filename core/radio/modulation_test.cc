#include "core/radio/modulation.h"

#include <gtest/gtest.h>

namespace tributary::radio {
namespace {

TEST(ModulationTest, ParsesEachNameAndNoOther) {
  for (std::size_t m = 0; m < kModulations.size(); ++m) {
    const auto modulation = static_cast<Modulation>(m);
    EXPECT_EQ(ParseModulation(ModulationName(modulation)), modulation);
  }
  EXPECT_EQ(ModulationName(Modulation::kBpsk), "BPSK");
  EXPECT_EQ(ModulationName(Modulation::kWbfm), "WBFM");
  EXPECT_EQ(ParseModulation("bpsk"), std::nullopt);
  EXPECT_EQ(ParseModulation(""), std::nullopt);
}

}  // namespace
}  // namespace tributary::radio
