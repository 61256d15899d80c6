#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>

#include "node/source/images_buffer.h"
#include "node/source/images_glyphs.h"
#include "node/source/images_idx.h"
#include "node/source/images_rehearsal.h"
#include "node/source/images_split.h"
#include "node/source/images_stream.h"

namespace tributary {
namespace {

std::string Word(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string ImageFile(std::uint32_t count, std::uint32_t rows, std::uint32_t columns) {
  std::string file = Word(0x803) + Word(count) + Word(rows) + Word(columns);
  for (std::uint32_t i = 0; i < count * rows * columns; ++i) file.push_back(static_cast<char>(i));
  return file;
}

std::string Gzip(const std::string& plain) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(plain.size() + 128, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

void ExpectRefused(const std::string& file, const std::string& words) {
  const auto set = DecodeIdxImages(file);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(std::string(set.status().message()).find(words), std::string::npos) << set.status();
}

TEST(ImagesIdxTest, ReadsPlainAndGzippedFilesAlike) {
  const auto plain = DecodeIdxImages(ImageFile(3, 4, 4)), packed = DecodeIdxImages(Gzip(ImageFile(3, 4, 4)));
  ASSERT_TRUE(plain.ok() && packed.ok());
  EXPECT_EQ(plain->count(), 3);
  EXPECT_EQ(plain->image(1)[0], 16);
  EXPECT_EQ(plain->pixels, packed->pixels);
}

TEST(ImagesIdxTest, NamesTheOffsetOfWhatIsWrong) {
  ExpectRefused("", "offset 0");
  ExpectRefused(ImageFile(1, 4, 4).substr(0, 9), "offset 9");
  ExpectRefused(Word(0x801) + std::string(12, '\0'), "offset 0");
  ExpectRefused(ImageFile(3, 4, 4).substr(0, 60), "offset 60");
  ExpectRefused(ImageFile(3, 4, 4) + "x", "offset 65");
  ExpectRefused(Word(0x803) + Word(0xffffffff) + Word(256) + Word(256), "offset 16");
  ExpectRefused(Word(0x803) + Word(1) + Word(0) + Word(0), "offset 8");
  ExpectRefused(ImageFile(1, 4, 5), "offset 8");
  const std::string packed = Gzip(ImageFile(3, 4, 4));
  ExpectRefused(packed.substr(0, packed.size() - 3), "ends early");
  ExpectRefused(packed + "tail", "offset " + std::to_string(packed.size()));
}

TEST(ImagesIdxTest, RefusesABombBeforeItIsUnpacked) {
  const auto set = DecodeIdxImages(Gzip(std::string(std::size_t{8} << 20, '\0')), std::size_t{1} << 20);
  EXPECT_EQ(set.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ImagesIdxTest, ReadsKmnist) {
  const char* given = std::getenv("TRIBUTARY_DATA_DIR");
  const std::string folder = given ? given : TRIBUTARY_SOURCE_DIR "/../shared/data";
  const std::string images = folder + "/kmnist/train-first7011-images-idx3-ubyte.gz";
  if (!std::filesystem::exists(images)) GTEST_SKIP() << images << " is absent: set TRIBUTARY_DATA_DIR";
  const auto set = ReadIdxImages(images, folder + "/kmnist/train-labels-idx1-ubyte.gz");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->side, 28);
  EXPECT_EQ(set->count(), 7011);
  EXPECT_EQ(set->labels.size(), 7011);
}

class ImagesSplitTest : public ::testing::TestWithParam<ImageSplit> {};

TEST_P(ImagesSplitTest, EveryImageGoesToExactlyOneNodeAndSeedsRepeat) {
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
INSTANTIATE_TEST_SUITE_P(All, ImagesSplitTest,
                         ::testing::Values(ImageSplit::kIid, ImageSplit::kShard, ImageSplit::kDirichlet));

TEST(ImagesSplitTest, ShardsHoldFewClasses) {
  const ImageSet set = DrawGlyphs(500, 1);
  const auto parts = SplitImages(set.count(), set.labels, {ImageSplit::kShard, 5, 0.5, 3});
  for (const auto& part : *parts) {
    std::set<std::uint8_t> classes;
    for (const std::uint32_t i : part) classes.insert(set.labels[i]);
    EXPECT_LE(classes.size(), 4);  // two shards of 50 over classes of 50
  }
}

TEST(ImagesSplitTest, RefusesWhatCannotBeSplit) {
  const std::vector<std::uint8_t> labels(10, 1);
  EXPECT_FALSE(SplitImages(10, labels, {.nodes = 0}).ok());
  EXPECT_FALSE(SplitImages(10, labels, {.nodes = 11}).ok());
  EXPECT_FALSE(SplitImages(10, {}, {ImageSplit::kDirichlet, 2}).ok());
  EXPECT_FALSE(SplitImages(10, labels, {ImageSplit::kDirichlet, 2, 0.0}).ok());
}

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

TEST(ImageBufferTest, KeepsTheMostNovelAndCountsTheRest) {
  ImageBuffer buffer(2, 1);
  EXPECT_TRUE(buffer.Offer(std::vector<std::uint8_t>{1}, 0.5));
  EXPECT_TRUE(buffer.Offer(std::vector<std::uint8_t>{2}, 0.2));
  EXPECT_TRUE(buffer.Offer(std::vector<std::uint8_t>{3}, 0.3));
  EXPECT_FALSE(buffer.Offer(std::vector<std::uint8_t>{4}, 0.3));
  EXPECT_FALSE(buffer.Offer(std::vector<std::uint8_t>{5, 6}, 9));
  EXPECT_EQ(buffer.image(0)[0], 1);
  EXPECT_EQ(buffer.image(1)[0], 3);
  EXPECT_EQ(buffer.replaced(), 1);
  EXPECT_EQ(buffer.dropped(), 2);
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
  // High numbers are novel.
  static void ScoreByNumber(ImageRehearsal& rehearsal, std::span<const std::uint8_t> batch) {
    rehearsal.Score(std::vector<float>(batch.begin(), batch.end()));
  }

  ImageSet set_ = Numbered();
  ImageStream stream_{set_, All(), 4, 1};
};

TEST_F(ImageRehearsalTest, ShowsNewImagesInFrontAndKeptOnesBehind) {
  ImageRehearsal rehearsal(stream_, 4, 1, 8, 1);
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
  ImageRehearsal rehearsal(stream_, 4, 1, 8, 1);
  for (std::uint64_t b = 0; b < 10; ++b) ScoreByNumber(rehearsal, rehearsal.Batch(b));
  std::multiset<int> kept;
  for (std::size_t i = 0; i < rehearsal.buffer().size(); ++i) kept.insert(rehearsal.buffer().image(i)[0]);
  EXPECT_EQ(kept, (std::multiset<int>{32, 33, 34, 35, 36, 37, 38, 39}));
}

TEST_F(ImageRehearsalTest, LetsGoOfWhatIsNovelNoLonger) {
  ImageRehearsal rehearsal(stream_, 4, 1, 4, 1);
  (void)rehearsal.Batch(0);
  rehearsal.Score(std::vector<float>(8, 1.0f));
  (void)rehearsal.Batch(1);
  std::vector<float> novelty(8, 0.5f);
  std::fill(novelty.begin() + 4, novelty.end(), 0.0f);  // the kept ones are learnt by now
  rehearsal.Score(novelty);
  EXPECT_GT(rehearsal.buffer().replaced(), 0u);
}

TEST(ImagesGlyphsTest, EqualSeedsGiveEqualSetsAndOthersDoNot) {
  EXPECT_EQ(DrawGlyphs(20, 1).pixels, DrawGlyphs(20, 1).pixels);
  EXPECT_NE(DrawGlyphs(20, 1).pixels, DrawGlyphs(20, 2).pixels);
}

}  // namespace
}  // namespace tributary
