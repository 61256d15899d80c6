#include "node/learner/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/nn/kernel/random_stream.h"
#include "fpga/model/augmentation.h"

namespace tributary::learner {
namespace {

std::vector<std::uint8_t> RandomImages(std::size_t images) {
  std::vector<std::uint8_t> pixels(images * fpga::kImagePixels);
  nn::RandomStream random(1);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
  return pixels;
}

// 1,000 views pass all 32 combinations of blur, rotation and crop.
TEST(TableAugmentationTest, GivesTheModelsViewsBitForBit) {
  constexpr std::size_t kImages = 100;
  const std::vector<std::uint8_t> images = RandomImages(kImages);
  std::vector<std::uint8_t> views(images.size());
  const auto augmentation = *CreateAugmenter("table", {.side = fpga::kImageSide});
  for (std::uint64_t key = 0; key < 10; ++key) {
    const std::uint64_t bits = nn::RandomStream(key).Bits();
    augmentation->MakeViews(images, bits, views);
    fpga::AugmentationSequence sequence(static_cast<std::uint32_t>(bits), {});
    for (std::size_t n = 0; n < kImages; ++n) {
      fpga::Image image, view;
      std::copy_n(images.begin() + static_cast<std::ptrdiff_t>(n * fpga::kImagePixels), fpga::kImagePixels,
                  image.begin());
      std::copy_n(views.begin() + static_cast<std::ptrdiff_t>(n * fpga::kImagePixels), fpga::kImagePixels,
                  view.begin());
      ASSERT_EQ(view, fpga::Augment(image, sequence.Next())) << "key " << key << ", image " << n;
    }
  }
}

TEST(CreateAugmenterTest, RefusesTheTablesForImagesOfAnotherSide) {
  EXPECT_TRUE(CreateAugmenter("table", {.side = 28}).ok());
  EXPECT_EQ(CreateAugmenter("table", {.side = 32}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(CreateAugmenter("continuous", {.side = 32}).ok());
}

TEST(CreateAugmenterTest, RefusesStrongViewsBeyondTheirLimits) {
  EXPECT_TRUE(CreateAugmenter("strong", {.side = 32}).ok());
  EXPECT_EQ(CreateAugmenter("strong", {.side = 32, .crop = 1}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(CreateAugmenter("continuous", {.side = 32, .crop = 1}).ok()) << "they are of strong views";
}

TEST(CreateAugmenterTest, KnowsItsSetsByName) {
  EXPECT_EQ(CreateAugmenter("fast", {.side = 28}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::learner
