#include "core/images/images_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/images/image_set.h"

namespace tributary::images {
namespace {

TEST(ImageStreamTest, PassesOverEveryImageAndCanBeEnteredAnywhere) {
  const ImageSet set = DrawGlyphs(20, 1);
  const std::vector<std::uint32_t> part = {1, 3, 4, 7, 9, 12};
  ImageStream stream(set, part, 4, 5), other(set, part, 4, 5);
  std::multiset<std::vector<std::uint8_t>> seen, expected;
  for (std::uint64_t b = 0; b < 3; ++b) {  // 12 images: two passes
    const auto batch = stream.Batch(b);
    for (std::size_t n = 0; n < 4; ++n) {
      seen.emplace(batch.begin() + static_cast<std::ptrdiff_t>(n * 784),
                   batch.begin() + static_cast<std::ptrdiff_t>((n + 1) * 784));
    }
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (const std::uint32_t i : part) expected.emplace(set.image(i).begin(), set.image(i).end());
  }
  EXPECT_EQ(seen, expected);
  const std::vector<std::uint8_t> second(stream.Batch(1).begin(), stream.Batch(1).end());
  EXPECT_TRUE(std::ranges::equal(other.Batch(1), second));
}

class ImageRehearsalTest : public ::testing::Test {
 protected:
  // One pixel per image, which is its number.
  static ImageSet Numbered() {
    ImageSet set;
    set.side = 1;
    for (std::uint8_t i = 0; i < 40; ++i) set.pixels.push_back(i);
    return set;
  }
  static std::vector<std::uint32_t> All() {
    std::vector<std::uint32_t> part(40);
    std::iota(part.begin(), part.end(), 0U);
    return part;
  }
  static std::vector<KeptImage> Kept(const ImageRehearsal& rehearsal) {
    return {rehearsal.kept().begin(), rehearsal.kept().end()};
  }
  // High numbers are novel.
  static void ScoreByNumber(ImageRehearsal& rehearsal, std::span<const std::uint8_t> batch) {
    rehearsal.Score(std::vector<float>(batch.begin(), batch.end()));
  }

  ImageSet set_ = Numbered();
  ImageStream stream_{set_, All(), 4, 1};
};

TEST_F(ImageRehearsalTest, ShowsNewImagesInFrontAndKeptOnesBehind) {
  ImageRehearsal rehearsal(stream_, 8, 1);
  ImageStream same(set_, All(), 4, 1);
  std::set<std::uint8_t> seen;
  for (std::uint64_t b = 0; b < 10; ++b) {
    const auto batch = rehearsal.Batch(b);
    EXPECT_TRUE(std::ranges::equal(batch.first(4), same.Batch(b)));
    if (b == 0) seen.insert(batch.begin(), batch.begin() + 4);
    for (const std::uint8_t kept : batch.last(4)) EXPECT_TRUE(seen.contains(kept));
    seen.insert(batch.begin(), batch.begin() + 4);
    ScoreByNumber(rehearsal, batch);
  }
}

TEST_F(ImageRehearsalTest, EndsUpWithTheMostNovelOfThePass) {
  ImageRehearsal rehearsal(stream_, 8, 1);
  for (std::uint64_t b = 0; b < 10; ++b) ScoreByNumber(rehearsal, rehearsal.Batch(b));
  std::multiset<int> kept;
  for (const KeptImage& image : rehearsal.kept()) kept.insert(static_cast<int>(image.index));
  EXPECT_EQ(kept, (std::multiset<int>{32, 33, 34, 35, 36, 37, 38, 39}));
}

TEST_F(ImageRehearsalTest, KeepsTheMostNovelAndCountsTheRest) {
  ImageStream one_by_one(set_, {1, 2, 3, 4, 5}, 1, 1);
  ImageRehearsal rehearsal(one_by_one, 2, 1);
  const std::map<std::uint8_t, float> novelty = {
      {1, 0.5f}, {2, 0.2f}, {3, 0.3f}, {4, 0.3f}, {5, std::numeric_limits<float>::quiet_NaN()}};
  std::uint64_t taken = 0;
  for (std::uint64_t b = 0; b < 5; ++b) {
    const std::vector<KeptImage> before = Kept(rehearsal);
    const auto batch = rehearsal.Batch(b);
    rehearsal.Score(std::vector<float>{novelty.at(batch[0]), novelty.at(batch[1])});
    taken += Kept(rehearsal) != before;
  }
  std::multiset<float> kept;
  for (const KeptImage& image : rehearsal.kept()) kept.insert(static_cast<float>(image.novelty));
  EXPECT_EQ(kept, (std::multiset<float>{0.3f, 0.5f}));
  EXPECT_EQ(rehearsal.dropped(), 5 - taken);
}

TEST_F(ImageRehearsalTest, GoesOnFromABufferThatWasKept) {
  ImageRehearsal first(stream_, 8, 1);
  for (std::uint64_t b = 0; b < 5; ++b) ScoreByNumber(first, first.Batch(b));
  const std::vector<KeptImage> kept = Kept(first);
  ImageRehearsal second(stream_, 8, 1);
  ASSERT_TRUE(second.Restore(kept).ok());
  for (std::uint64_t b = 5; b < 10; ++b) {
    const auto batch = first.Batch(b);
    const std::vector<std::uint8_t> expected(batch.begin(), batch.end());
    ScoreByNumber(first, batch);
    const auto again = second.Batch(b);
    EXPECT_TRUE(std::ranges::equal(again, expected));
    ScoreByNumber(second, again);
  }
  EXPECT_TRUE(std::ranges::equal(first.kept(), second.kept()));
  // And back.
  ASSERT_TRUE(second.Restore(kept).ok());
  EXPECT_TRUE(std::ranges::equal(second.kept(), kept));
}

TEST_F(ImageRehearsalTest, TakesNoBufferThatIsNotOfItsSet) {
  ImageRehearsal rehearsal(stream_, 4, 1);
  ASSERT_TRUE(rehearsal.Restore(std::vector<KeptImage>{{7, 0.5}}).ok());
  EXPECT_FALSE(rehearsal.Restore(std::vector<KeptImage>{{40, 0.5}}).ok());
  EXPECT_FALSE(rehearsal.Restore(std::vector<KeptImage>{{1, std::nan("")}}).ok());
  EXPECT_FALSE(rehearsal.Restore(std::vector<KeptImage>(5)).ok());
  ASSERT_EQ(rehearsal.kept().size(), 1u);
  EXPECT_EQ(rehearsal.kept()[0].index, 7);
}

TEST_F(ImageRehearsalTest, LetsGoOfWhatIsNovelNoLonger) {
  ImageRehearsal rehearsal(stream_, 4, 1);
  (void)rehearsal.Batch(0);
  rehearsal.Score(std::vector<float>(8, 1.0f));
  const std::vector<KeptImage> before = Kept(rehearsal);
  (void)rehearsal.Batch(1);
  std::vector<float> novelty(8, 0.5f);
  std::fill(novelty.begin() + 4, novelty.end(), 0.0f);  // the kept ones are learnt by now
  rehearsal.Score(novelty);
  const auto still_kept = [&](const KeptImage& image) {
    return std::ranges::count(rehearsal.kept(), image.index, &KeptImage::index) > 0;
  };
  EXPECT_FALSE(std::ranges::all_of(before, still_kept));
}

}  // namespace
}  // namespace tributary::images
