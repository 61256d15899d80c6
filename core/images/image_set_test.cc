#include "core/images/image_set.h"

#include <gtest/gtest.h>

namespace tributary::images {
namespace {

TEST(GlyphsTest, EqualSeedsGiveEqualSetsAndOthersDoNot) {
  EXPECT_EQ(DrawGlyphs(20, 1).pixels, DrawGlyphs(20, 1).pixels);
  EXPECT_NE(DrawGlyphs(20, 1).pixels, DrawGlyphs(20, 2).pixels);
}

}  // namespace
}  // namespace tributary::images
