#include <fmt/format.h>

#include <array>

#include "Vaugment_convolve.h"
#include "fpga/model/augmentation.h"
#include "fpga/tb/common/frame_bench.h"
#include "fpga/tb/common/images.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

constexpr std::size_t kChannels = 4;

struct Configuration {
  AugmentationSequence::Enable enable;
  bool convolve = false;
  bool pad = false;
  unsigned views = 1;
  std::uint32_t seed = 0;
};

class AugmentationBench : public ::testing::Test {
 protected:
  AugmentationBench() {
    bench_->load_valid_i = 0;
    bench_->seed_load_i = 0;
    bench_.Reset();
  }

  // Starts the sequence of choices from the configuration's seed.
  void Configure(const Configuration& configuration) {
    configuration_ = configuration;
    bench_->cfg_blur_i = configuration.enable.blur;
    bench_->cfg_rotate_i = configuration.enable.rotation;
    bench_->cfg_crop_i = configuration.enable.crop;
    bench_->cfg_convolve_i = configuration.convolve;
    bench_->cfg_pad_i = configuration.pad;
    bench_->cfg_repeat_i = static_cast<unsigned char>(configuration.views - 1);
    bench_->cfg_seed_i = configuration.seed;
    bench_->seed_load_i = 1;
    bench_.StaysSilent(1);
    bench_->seed_load_i = 0;
    sequence_ = AugmentationSequence(configuration.seed, configuration.enable);
  }

  // While an image is between the stages and the next one comes in; no seed is loaded.
  void ResetWhileImagesAreInside() {
    constexpr std::size_t kWords = kImagePixels / 8 * 3 / 2;
    for (std::size_t i = 0; i < kWords; ++i) bench_.source().Push(i);
    ASSERT_TRUE(bench_.StaysSilent(8 * kWords + 16));
    ASSERT_TRUE(bench_.source().empty());
    bench_.Reset();
    sequence_ = AugmentationSequence(0, configuration_.enable);
  }

  void Load(const std::array<Kernel, kChannels>& kernels, int shift) {
    kernels_ = kernels;
    shift_ = shift;
    for (const Kernel& kernel : kernels) {
      for (std::size_t row = 0; row < kKernelSide; ++row) {
        std::uint64_t word = 0;
        for (std::size_t column = 0; column < kKernelSide; ++column) {
          word |= static_cast<std::uint64_t>(static_cast<std::uint16_t>(kernel[row * kKernelSide + column]))
                  << (16 * column);
        }
        LoadWord(word);
      }
    }
    LoadWord(static_cast<std::uint64_t>(shift));
  }

  // Sends the images one directly behind the other and compares every word.
  void Check(const std::vector<Image>& images, Pace pace) {
    std::vector<std::uint64_t> expected;
    for (const Image& image : images) {
      Append(image, bench_.source());
      for (unsigned view = 0; view < configuration_.views; ++view) {
        const AugmentationChoice choice = sequence_.Next();
        Note(choice);
        AppendExpected(Augment(image, choice), expected);
        ++checked_;
      }
    }
    const std::vector<std::uint64_t> actual = bench_.Run(expected.size(), pace, coverage_);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(actual[i], expected[i]) << "word " << i;
    EXPECT_TRUE(bench_.StaysSilent(40));
  }

  std::mt19937 random_{20'041};
  FrameBench<Vaugment_convolve> bench_{5};
  Coverage coverage_;
  std::uint64_t& checked_ = coverage_.Point("views checked");
  Configuration configuration_;

 private:
  void LoadWord(std::uint64_t word) {
    bench_->load_data_i = word | 0xf000'f000'f000'0000U;  // bits that do not count
    bench_->load_valid_i = 1;
    EXPECT_TRUE(bench_->load_ready_o);
    bench_.StaysSilent(1);
    bench_->load_valid_i = 0;
    bench_->load_data_i = ~word;
    if (random_() % 4 == 0) bench_.StaysSilent(1);
  }

  static void Append(const Image& image, StreamSource& source) {
    for (std::size_t i = 0; i < kImagePixels; i += 8) {
      std::uint64_t word = 0;
      for (std::size_t b = 0; b < 8; ++b) word |= static_cast<std::uint64_t>(image[i + b]) << (8 * b);
      source.Push(word);
    }
  }

  void AppendExpected(const Image& image, std::vector<std::uint64_t>& words) {
    std::vector<std::uint8_t> bytes(image.begin(), image.end());
    if (configuration_.convolve) {
      std::array<std::vector<std::uint8_t>, kChannels> channels;
      for (std::size_t c = 0; c < kChannels; ++c) {
        channels[c] = Convolve(image, kImageSide, kernels_[c], shift_, configuration_.pad);
      }
      bytes.clear();
      for (std::size_t i = 0; i < channels[0].size(); ++i) {
        for (std::size_t c = 0; c < kChannels; ++c) bytes.push_back(channels[c][i]);
      }
    }
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      std::uint64_t word = 0;
      for (std::size_t b = 0; b < 8 && i + b < bytes.size(); ++b) {
        word |= static_cast<std::uint64_t>(bytes[i + b]) << (8 * b);
      }
      words.push_back(word);
    }
  }

  void Note(const AugmentationChoice& choice) {
    ++coverage_.Point(choice.blur ? "blurred" : "not blurred", 0);
    if (choice.rotation) ++coverage_.Point(fmt::format("rotation {}", *choice.rotation), 0);
    if (choice.crop) ++coverage_.Point(fmt::format("crop {}", *choice.crop), 0);
  }

  AugmentationSequence sequence_{0, {}};
  std::array<Kernel, kChannels> kernels_{};
  int shift_ = kCoefficientShift;
};

void RequireEveryChoice(Coverage& coverage, std::uint64_t minimum) {
  coverage.Point("blurred", minimum);
  coverage.Point("not blurred", minimum);
  for (int variant = 0; variant < 4; ++variant) {
    coverage.Point(fmt::format("rotation {}", variant), minimum);
    coverage.Point(fmt::format("crop {}", variant), minimum);
  }
}

TEST_F(AugmentationBench, MatchesTheModelOnAThousandImagesUnderRandomPauses) {
  constexpr std::array<Pace, 5> kPaces = {{{100, 100}, {7, 100}, {100, 8}, {13, 12}, {50, 50}}};
  for (std::size_t run = 0; run < 50; ++run) {
    Configure({.enable = {}, .seed = static_cast<std::uint32_t>(random_())});
    Check(BenchImages(random_, 20), kPaces[run % kPaces.size()]);
  }
  coverage_.Point("views checked", 1000);
  coverage_.Point("input paused", 10'000);
  coverage_.Point("input refused", 10'000);
  coverage_.Point("output refused", 10'000);
  RequireEveryChoice(coverage_, 100);
}

TEST_F(AugmentationBench, MatchesTheModelThroughTheConvolution) {
  constexpr std::array<Pace, 3> kPaces = {{{100, 100}, {20, 60}, {100, 40}}};
  for (std::size_t run = 0; run < 30; ++run) {
    Load(BenchKernels<kChannels>(random_), static_cast<int>(4 + run % 8));
    Configure({.enable = {.blur = run % 2 == 0, .rotation = run % 3 != 0, .crop = run % 5 != 0},
               .convolve = true,
               .pad = run % 4 < 2,
               .views = 1 + static_cast<unsigned>(run % 4),
               .seed = static_cast<std::uint32_t>(random_())});
    Check(BenchImages(random_, 5), kPaces[run % kPaces.size()]);
  }
  coverage_.Point("views checked", 300);
  RequireEveryChoice(coverage_, 20);
}

TEST_F(AugmentationBench, BeginsTheSequenceOfSeedZeroAfterAReset) {
  Configure({.enable = {}, .views = 2, .seed = 0x2468'ace0});
  Check(BenchImages(random_, 3), {});
  ResetWhileImagesAreInside();
  Check(BenchImages(random_, 20), {});
}

TEST_F(AugmentationBench, PassesImagesUnchangedWhenAllIsOff) {
  Configure({.enable = {.blur = false, .rotation = false, .crop = false}, .views = 2});
  Check(BenchImages(random_, 6), {});
  Check(BenchImages(random_, 10), {100, 5});  // slow enough that every stage has to wait
}

TEST_F(AugmentationBench, RunsThroughTheWholePeriodOfTheBlur) {
  Configure({.enable = {.blur = true, .rotation = false, .crop = false}, .views = 4, .seed = 0x3fff'ffff});
  Check(BenchImages(random_, 130), {});
  coverage_.Point("views checked", 512);
  coverage_.Point("blurred", 127);
}

// Ready may wait for valid, valid must not wait for ready.
TEST_F(AugmentationBench, OffersAResultBeforeItIsAskedForOne) {
  Configure({.enable = {}});
  for (std::size_t i = 0; i < kImagePixels / 8; ++i) bench_.source().Push(i);
  bench_.sink().set_accept_percent(0);
  bench_.StaysSilent(4000);
  EXPECT_TRUE(bench_->out_valid_o);
  coverage_.Point("views checked", 0);
}

TEST_F(AugmentationBench, TakesAPixelPerCycleFromImageToImage) {
  for (const bool convolve : {false, true}) {
    Load(BenchKernels<kChannels>(random_), kCoefficientShift);
    Configure({.enable = {}, .convolve = convolve, .pad = true, .seed = 77});
    constexpr std::size_t kImages = 24;
    Check(BenchImages(random_, kImages), {});
    const auto& in = bench_.in_cycles();
    const auto& out = bench_.out_cycles();
    const std::size_t words = out.size() / kImages;
    const std::uint64_t per_image = (out.back() - out[words - 1]) / (kImages - 1);
    fmt::print(
        "augmentation{}: {} cycles per image, latency {} to the first word, {} to the last of one image\n",
        convolve ? " and convolution" : "", per_image, out[0] - in[0], out[words - 1] - in[0]);
    EXPECT_EQ(per_image, kImagePixels);
    RecordProperty(convolve ? "cycles_chain" : "cycles_augmentation", static_cast<int>(per_image));
  }
}

}  // namespace
}  // namespace tributary::fpga
