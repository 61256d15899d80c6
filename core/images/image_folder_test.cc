#include "core/images/image_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <turbojpeg.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/images/image_file.h"
#include "tests/support/own_folder.h"

namespace tributary::images {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Rgb = std::vector<std::uint8_t>;

// Left half red (200, 20, 40), right half blue (10, 30, 220).
Rgb Halves(std::size_t width, std::size_t height) {
  Rgb pixels;
  for (std::size_t i = 0; i < width * height; ++i) {
    if (i % width < width / 2) {
      pixels.insert(pixels.end(), {200, 20, 40});
    } else {
      pixels.insert(pixels.end(), {10, 30, 220});
    }
  }
  return pixels;
}

std::string Png(std::size_t width, std::size_t height, const Rgb& pixels,
                std::uint32_t format = PNG_FORMAT_RGB) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr);
  std::string file(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr), 0);
  file.resize(size);
  return file;
}

std::string Jpeg(std::size_t width, std::size_t height, const Rgb& pixels, int flags = 0) {
  const std::unique_ptr<void, decltype(&tjDestroy)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(encoder.get(), pixels.data(), static_cast<int>(width), 0, static_cast<int>(height),
                        TJPF_RGB, &bytes, &size, TJSAMP_444, 95, flags),
            0);
  std::string file(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  return file;
}

TEST(ImageFileTest, ReadsPngAndJpegAlike) {
  for (const std::string& file : {Png(40, 20, Halves(40, 20)), Jpeg(40, 20, Halves(40, 20)),
                                  Jpeg(40, 20, Halves(40, 20), TJFLAG_PROGRESSIVE)}) {
    const auto picture = DecodePicture(file);
    ASSERT_TRUE(picture.ok()) << picture.status();
    EXPECT_EQ(picture->width, 40);
    EXPECT_EQ(picture->height, 20);
    EXPECT_NEAR(picture->pixels[0], 200, 4);
    EXPECT_NEAR(picture->pixels[39 * 3 + 2], 220, 4);
  }
}

TEST(ImageFileTest, TransparentPixelsAreBlack) {
  const auto picture = DecodePicture(Png(1, 1, {200, 200, 200, 0}, PNG_FORMAT_RGBA));
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_THAT(picture->pixels, ElementsAre(0, 0, 0));
}

TEST(ImageFileTest, FitsTheSquareInTheMiddle) {
  const Picture picture{6, 2, {9, 9, 9, 9, 9, 9, 10, 20, 30, 30, 40, 50, 9, 9, 9, 9, 9, 9,
                               9, 9, 9, 9, 9, 9, 50, 60, 70, 70, 80, 90, 9, 9, 9, 9, 9, 9}};
  std::vector<std::uint8_t> image(12);
  Fit(picture, {2, 3}, image.data());
  EXPECT_THAT(image, ElementsAre(10, 30, 50, 70, 20, 40, 60, 80, 30, 50, 70, 90));
  Fit(picture, {1, 3}, image.data());
  EXPECT_THAT(std::vector(image.begin(), image.begin() + 3), ElementsAre(40, 50, 60));
  Fit(picture, {1, 1}, image.data());
  EXPECT_EQ(image[0], 48);  // 0.299 · 40 + 0.587 · 50 + 0.114 · 60
}

TEST(ImageFileTest, ScalesByTheMeanOfWhatAPixelCovers) {
  Picture picture{3, 3, {}};
  for (int i = 0; i < 9; ++i) picture.pixels.insert(picture.pixels.end(), 3, i % 3 == 0 ? 0 : 90);
  std::vector<std::uint8_t> image(4 * 4);
  Fit(picture, {2, 1}, image.data());  // a pixel covers one column and a half
  EXPECT_THAT(std::vector(image.begin(), image.begin() + 4), ElementsAre(30, 90, 30, 90));
  Fit(picture, {4, 1}, image.data());  // three quarters of a column
  EXPECT_THAT(std::vector(image.begin(), image.begin() + 4), ElementsAre(0, 60, 90, 90));
}

TEST(ImageFileTest, RefusesWhatIsDamagedWithoutReadingOn) {
  const std::string png = Png(40, 20, Halves(40, 20)), jpeg = Jpeg(40, 20, Halves(40, 20));
  EXPECT_EQ(DecodePicture("").status().message(), "neither a PNG nor a JPEG");
  EXPECT_EQ(DecodePicture("GIF89a").status().code(), absl::StatusCode::kDataLoss);
  for (const std::string& file : {png, jpeg}) {
    for (const std::size_t length : {file.size() / 3, file.size() / 2, file.size() - 20}) {
      const auto picture = DecodePicture(file.substr(0, length));
      EXPECT_EQ(picture.status().code(), absl::StatusCode::kDataLoss) << length << " of " << file.size();
    }
  }
}

TEST(ImageFileTest, RefusesAPictureThatIsTooLargeBeforeItTakesMemory) {
  std::string png = Png(40, 20, Halves(40, 20));
  png[16] = 0x10;  // a width of 2^28 + 40: the header's checksum is wrong now, too
  EXPECT_FALSE(DecodePicture(png).ok());
  std::string jpeg = Jpeg(40, 20, Halves(40, 20));
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (std::size_t i = 5; i < 9; i += 2) jpeg[frame + i] = 0x7f;  // 32,532 × 32,552 pixels
  const auto picture = DecodePicture(jpeg);
  EXPECT_EQ(picture.status().code(), absl::StatusCode::kResourceExhausted) << picture.status();
  EXPECT_THAT(std::string(picture.status().message()), HasSubstr("pixels, at most 16384 on a side"));
}

class ImageFolderTest : public ::testing::Test {
 protected:
  ImageFolderTest()
      : folder_(OwnFolder() + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "/") {
    std::filesystem::create_directories(folder_);
  }

  void Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + name).parent_path());
    std::ofstream(folder_ + name, std::ios::binary) << bytes;
  }
  std::string Fault() const {
    const auto set = ReadImageFolder(folder_, {8, 1});
    EXPECT_FALSE(set.ok());
    return std::string(set.status().message());
  }

  std::string folder_;
};

TEST_F(ImageFolderTest, FoldersAreClassesInTheOrderOfTheirNames) {
  Write("cat/b.png", Png(40, 20, Rgb(2400, 50)));
  Write("cat/a.jpg", Jpeg(40, 20, Rgb(2400, 150)));
  Write("ant/z.PNG", Png(9, 9, Rgb(243, 250)));
  Write("cat/.hidden", "no picture");
  const auto set = ReadImageFolder(folder_, {8, 3});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->shape(), (nn::ImageShape{8, 3}));
  EXPECT_THAT(set->labels, ElementsAre(0, 1, 1));
  EXPECT_NEAR(set->image(0)[0], 250, 1);
  EXPECT_NEAR(set->image(1)[0], 150, 2);
  EXPECT_NEAR(set->image(2)[191], 50, 1);
}

TEST_F(ImageFolderTest, FilesAloneHaveNoLabels) {
  Write("a.png", Png(9, 9, Rgb(243, 250)));
  const auto set = ReadImageFiles({.images = folder_, .labels = "", .fitted = {8, 1}});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->count(), 1);
  EXPECT_TRUE(set->labels.empty());
  EXPECT_THAT(std::string(ReadImageFiles({.images = folder_, .labels = "labels.gz"}).status().message()),
              HasSubstr("labels beside a folder of pictures"));
}

TEST_F(ImageFolderTest, NamesTheFileThatIsWrong) {
  EXPECT_THAT(Fault(), HasSubstr("no picture in this folder"));
  Write("cat/a.txt", "hello");
  EXPECT_THAT(Fault(), HasSubstr("cat/a.txt: neither a PNG nor a JPEG"));
  Write("cat/deep/a.png", Png(9, 9, Rgb(243, 250)));
  EXPECT_THAT(Fault(), HasSubstr("cat/deep: a folder within the folder of a class"));
  Write("loose.png", Png(9, 9, Rgb(243, 250)));
  EXPECT_THAT(Fault(), HasSubstr("files beside the folders of classes, as loose.png"));
  EXPECT_THAT(std::string(ReadImageFolder(folder_ + "none", {8, 1}).status().message()), HasSubstr("none"));
}

TEST_F(ImageFolderTest, RefusesMoreClassesThanALabelHolds) {
  for (int i = 0; i < 257; ++i) std::filesystem::create_directories(folder_ + fmt::format("class{}", i));
  EXPECT_THAT(Fault(), HasSubstr("257 folders, at most 256 classes"));
}

}  // namespace
}  // namespace tributary::images
