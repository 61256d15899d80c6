#include "core/images/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/images/image_set.h"

namespace tributary::images {
namespace {

class ImageSplitTest : public ::testing::TestWithParam<ImageSplit> {};

TEST_P(ImageSplitTest, EveryImageGoesToExactlyOneNodeAndSeedsRepeat) {
  const ImageSet set = DrawGlyphs(500, 1);
  const ImageSplitOptions options{GetParam(), 5, 0.5, 3};
  const auto parts = SplitImages(set.count(), set.labels, options);
  ASSERT_TRUE(parts.ok()) << parts.status();
  std::vector<std::uint32_t> all;
  for (const auto& part : *parts) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  std::vector<std::uint32_t> expected(500);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(*parts, *SplitImages(set.count(), set.labels, options));
}
INSTANTIATE_TEST_SUITE_P(All, ImageSplitTest,
                         ::testing::Values(ImageSplit::kIid, ImageSplit::kShard, ImageSplit::kDirichlet));

TEST(ImageSplitTest, ShardsHoldFewClasses) {
  const ImageSet set = DrawGlyphs(500, 1);
  const auto parts = SplitImages(set.count(), set.labels, {ImageSplit::kShard, 5, 0.5, 3});
  for (const auto& part : *parts) {
    std::set<std::uint8_t> classes;
    for (const std::uint32_t i : part) classes.insert(set.labels[i]);
    EXPECT_LE(classes.size(), 4);  // two shards of 50 over classes of 50
  }
}

TEST(ImageSplitTest, RefusesWhatCannotBeSplit) {
  const std::vector<std::uint8_t> labels(10, 1);
  EXPECT_FALSE(SplitImages(10, labels, {.nodes = 0}).ok());
  EXPECT_FALSE(SplitImages(10, labels, {.nodes = 11}).ok());
  EXPECT_FALSE(SplitImages(10, {}, {ImageSplit::kDirichlet, 2}).ok());
  EXPECT_FALSE(SplitImages(10, labels, {ImageSplit::kDirichlet, 2, 0.0}).ok());
}

}  // namespace
}  // namespace tributary::images
