#include "core/images/idx_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/own_folder.h"

namespace tributary::images {
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

// Pixel p of the whole file is (3 p, 3 p + 1, 3 p + 2).
std::string ColourFile(std::uint32_t count, std::uint32_t side, std::uint32_t channels) {
  std::string file = Word(0x804) + Word(count) + Word(side) + Word(side) + Word(channels);
  for (std::uint32_t i = 0; i < count * side * side * channels; ++i) file.push_back(static_cast<char>(i));
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

TEST(IdxFileTest, ReadsPlainAndGzippedFilesAlike) {
  const auto plain = DecodeIdxImages(ImageFile(3, 4, 4)), packed = DecodeIdxImages(Gzip(ImageFile(3, 4, 4)));
  ASSERT_TRUE(plain.ok() && packed.ok());
  EXPECT_EQ(plain->count(), 3);
  EXPECT_EQ(plain->image(1)[0], 16);
  EXPECT_EQ(plain->pixels, packed->pixels);
}

TEST(IdxFileTest, ReadsColourChannelByChannel) {
  const auto set = DecodeIdxImages(Gzip(ColourFile(2, 4, 3)));
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->shape(), (nn::ImageShape{4, 3}));
  ASSERT_EQ(set->count(), 2);
  const auto second = set->image(1);
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(second[c * 16 + i], 48 + 3 * i + c);
  }
}

TEST(IdxFileTest, RefusesColoursThatAreNotThree) {
  ExpectRefused(ColourFile(2, 4, 4), "4 channels at offset 16, expected 3");
  ExpectRefused(ColourFile(2, 4, 3).substr(0, 19), "the header takes 20 bytes, the file ends at offset 19");
  ExpectRefused(ColourFile(2, 4, 3).substr(0, 100), "the header promises 116 bytes");
  ExpectRefused(Word(0x804) + Word(0xffffffff) + Word(256) + Word(256) + Word(3), "offset 20");
}

TEST(IdxFileTest, NamesTheOffsetOfWhatIsWrong) {
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
  ExpectRefused(Gzip(ImageFile(1, 4, 5)), "unpacked: images of 4 × 5 at offset 8");
  ExpectRefused(Word(0x803) + Word(0) + Word(4) + Word(4), "count 0 at offset 4");
  ExpectRefused(packed + "tail", "offset " + std::to_string(packed.size()));
}

TEST(IdxFileTest, SaysWhichOfTwoFilesDoesNotFit) {
  const std::string images = OwnFolder() + "images", labels = OwnFolder() + "labels";
  std::ofstream(images) << ImageFile(3, 4, 4);
  std::ofstream(labels) << Word(0x801) + Word(2) + "ab";
  const auto few = ReadIdxImages(images, labels);
  EXPECT_EQ(few.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(few.status().message(),
            labels + ": 2 labels at offset 4, expected one for each of the 3 images in " + images);
  const auto swapped = ReadIdxImages(labels, images);
  EXPECT_EQ(swapped.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(swapped.status().message(), labels + ": the header takes 16 bytes, the file ends at offset 10");
}

TEST(IdxFileTest, RefusesABombBeforeItIsUnpacked) {
  const auto set = DecodeIdxImages(Gzip(std::string(std::size_t{8} << 20, '\0')), std::size_t{1} << 20);
  EXPECT_EQ(set.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(IdxFileTest, ReadsKmnist) {
  const char* given = std::getenv("TRIBUTARY_DATA_DIR");
  const std::string folder = given ? given : TRIBUTARY_SOURCE_DIR "/../shared/data";
  const std::string images = folder + "/kmnist/train-first7011-images-idx3-ubyte.gz";
  if (given == nullptr && !std::filesystem::exists(images)) GTEST_SKIP() << "set TRIBUTARY_DATA_DIR";
  const auto set = ReadIdxImages(images, folder + "/kmnist/train-labels-idx1-ubyte.gz");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->side, 28);
  EXPECT_EQ(set->count(), 7011);
  EXPECT_EQ(set->labels.size(), 7011);
}

}  // namespace
}  // namespace tributary::images
