#include "fpga/gen/rom.h"

#include <algorithm>

#include "fpga/model/augmentation.h"
#include "fpga/model/beacon_model.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

TEST(RomTest, RotationHasAWordForEachAddressAndMarksTheOutside) {
  const Rom rom = RotationRom();
  ASSERT_EQ(rom.words.size(), 4096U);
  EXPECT_EQ(rom.words[0], 31U * 32U);  // the corner of a turned image
  const PixelPosition middle = RotationSource(1, {.row = 14, .column = 9}).value();
  EXPECT_EQ(rom.words[1024 + 14 * 32 + 9], middle.row * 32U + middle.column);
}

TEST(RomTest, CropOfTheWholeImageIsTheIdentity) {
  const Rom rom = CropRom();
  ASSERT_EQ(rom.words.size(), 128U);
  for (std::uint32_t i = 0; i < kImageSide; ++i) EXPECT_EQ(rom.words[96 + i], i);
}

TEST(RomTest, HalfTheTansigTableTellsTheOtherHalf) {
  const Rom rom = TansigRom();
  const auto table = TansigTable();
  ASSERT_EQ(2 * rom.words.size(), table.size());
  const auto word = [&](std::size_t x) { return static_cast<std::int16_t>(rom.words.at(x)); };
  for (std::size_t x = 0; x < rom.words.size(); ++x) {
    EXPECT_LT(rom.words[x], 1u << rom.bits);
    EXPECT_EQ(table[rom.words.size() + x], word(x));
    EXPECT_EQ(table[rom.words.size() - x - 1], -word(std::min(x + 1, rom.words.size() - 1)));
  }
}

TEST(RomTest, WritesWholeNibblesAndNegativeCoefficientsInTwosComplement) {
  EXPECT_EQ(ToHex({.name = "x", .bits = 10, .words = {0x3ff, 1}}), "3ff\n001\n");
  EXPECT_EQ(ToHex(BlurRom()).substr(0, 4), "04d\n");
}

}  // namespace
}  // namespace tributary::fpga
