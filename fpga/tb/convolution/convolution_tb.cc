#include <fmt/format.h>

#include <array>

#include "Vconvolution.h"
#include "fpga/model/convolution.h"
#include "fpga/tb/common/frame_bench.h"
#include "fpga/tb/common/images.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

// The RTL is tested with four channels, the netlist with one: a byte of the output port each.
constexpr std::size_t kChannels = sizeof(Vconvolution::out_data_o);
// One image alone, from its first pixel in to its last result out, both counted. [SSL], table 7.1, has 838
// for that.
constexpr std::uint64_t kPaddedCycles = 828;
constexpr std::uint64_t kInnerCycles = 799;

using Kernels = std::array<Kernel, kChannels>;

class ConvolutionBench : public ::testing::Test {
 protected:
  ConvolutionBench() { bench_.Reset(); }

  void Configure(const Kernels& kernels, int shift, bool pad) {
    kernels_ = kernels;
    shift_ = shift;
    pad_ = pad;
    bench_->cfg_pad_i = pad;
    bench_->cfg_shift_i = static_cast<unsigned>(shift);
    constexpr std::size_t kWords = (kChannels * kKernelTaps * kCoefficientBits + 31) / 32;
    for (std::size_t word = 0; word < kWords; ++word) bench_->cfg_kernel_i[word] = 0;
    for (std::size_t i = 0; i < kChannels * kKernelTaps; ++i) {
      const std::uint32_t bits =
          static_cast<std::uint32_t>(kernels[i / kKernelTaps][i % kKernelTaps]) & 0xfffU;
      for (std::size_t b = 0; b < 12; ++b) {
        const std::size_t at = 12 * i + b;
        bench_->cfg_kernel_i[at / 32] |= ((bits >> b) & 1U) << (at % 32);
      }
    }
  }

  // Sends the images one directly behind the other and compares every pixel of every channel.
  void Check(const std::vector<Image>& images, Pace pace) {
    std::vector<std::uint64_t> expected;
    for (const Image& image : images) {
      for (const std::uint8_t pixel : image) bench_.source().Push(pixel);
      std::array<std::vector<std::uint8_t>, kChannels> channels;
      for (std::size_t c = 0; c < kChannels; ++c) {
        channels[c] = Convolve(image, kImageSide, kernels_[c], shift_, pad_);
      }
      for (std::size_t i = 0; i < channels[0].size(); ++i) {
        std::uint64_t word = 0;
        for (std::size_t c = 0; c < kChannels; ++c) {
          word |= static_cast<std::uint64_t>(channels[c][i]) << (8 * c);
          ++(channels[c][i] == 0 ? clipped_low_ : channels[c][i] == 255 ? clipped_high_ : between_);
        }
        expected.push_back(word);
      }
    }
    const std::vector<std::uint64_t> actual = bench_.Run(expected.size(), pace, coverage_);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(actual[i], expected[i]) << "pixel " << i;
    checked_ += images.size();
    (pad_ ? padded_ : inner_) += images.size();
  }

  std::mt19937 random_{20'040};
  FrameBench<Vconvolution> bench_{4};
  Coverage coverage_;
  std::uint64_t& checked_ = coverage_.Point("images checked");
  std::uint64_t& padded_ = coverage_.Point("images padded", 0);
  std::uint64_t& inner_ = coverage_.Point("images not padded", 0);
  std::uint64_t& clipped_low_ = coverage_.Point("results clipped to 0");
  std::uint64_t& clipped_high_ = coverage_.Point("results clipped to 255");
  std::uint64_t& between_ = coverage_.Point("results between the clips");
  Kernels kernels_;
  int shift_ = kCoefficientShift;
  bool pad_ = true;
};

TEST_F(ConvolutionBench, MatchesTheModelOnAThousandImagesUnderRandomPauses) {
  coverage_.Point("images checked", 1000);
  coverage_.Point("images padded", 300);
  coverage_.Point("images not padded", 300);
  coverage_.Point("input paused", 10'000);
  coverage_.Point("input refused", 10'000);
  coverage_.Point("output refused", 10'000);
  constexpr std::array<Pace, 5> kPaces = {{{100, 100}, {50, 100}, {100, 50}, {70, 70}, {20, 90}}};
  for (int run = 0; run < 100; ++run) {
    Configure(BenchKernels<kChannels>(random_), run < 16 ? run : 5 + run % 6, random_() % 2 == 0);
    Check(BenchImages(random_, 10), kPaces[static_cast<std::size_t>(run) % kPaces.size()]);
  }
}

TEST_F(ConvolutionBench, MatchesTheModelOnAFewImagesOfEachKind) {
  coverage_.Point("images padded", 10);
  coverage_.Point("images not padded", 10);
  for (int run = 0; run < 10; ++run) {
    Configure(BenchKernels<kChannels>(random_), 4 + run % 5, run % 2 == 0);
    Check(BenchImages(random_, 2), run % 3 == 0 ? Pace{} : Pace{60, 70});
  }
}

TEST_F(ConvolutionBench, ClipsTheLargestSumsOfEitherSign) {
  coverage_.Point("results between the clips", 0);
  Kernels kernels{};
  Image white;
  white.fill(255);
  for (const std::int16_t extreme : {std::int16_t{2047}, std::int16_t{-2048}}) {
    kernels.front().fill(extreme);
    Configure(kernels, 0, true);
    Check({white, white}, {});
  }
}

// Ready may wait for valid, valid must not wait for ready.
TEST_F(ConvolutionBench, OffersAResultBeforeItIsAskedForOne) {
  Configure(BenchKernels<kChannels>(random_), kCoefficientShift, true);
  for (std::size_t i = 0; i < kImagePixels; ++i) bench_.source().Push(i % 256);
  bench_.sink().set_accept_percent(0);
  bench_.StaysSilent(4000);
  EXPECT_TRUE(bench_->out_valid_o);
  for (const char* point :
       {"images checked", "results clipped to 0", "results clipped to 255", "results between the clips"}) {
    coverage_.Point(point, 0);
  }
}

TEST_F(ConvolutionBench, TakesAPixelPerCycleFromImageToImage) {
  for (const bool pad : {true, false}) {
    Configure(BenchKernels<kChannels>(random_), kCoefficientShift, pad);
    Check(BenchImages(random_, 20), {});
    const auto& in = bench_.in_cycles();
    const auto& out = bench_.out_cycles();
    ASSERT_EQ(in.size(), 20 * kImagePixels);
    const std::size_t results = out.size() / 20;
    const std::uint64_t per_image = (out.back() - out[results - 1]) / 19;
    const std::uint64_t latency = out[0] - in[0];
    const std::uint64_t alone = out[results - 1] - in[0] + 1;
    fmt::print(
        "convolution, pad {}: {} cycles per image, {} for one alone, first result after {}, last {} after "
        "the "
        "last pixel\n",
        pad, per_image, alone, latency, out.back() - in.back());
    EXPECT_EQ(in.back() - in.front() + 1, 20 * kImagePixels);
    EXPECT_EQ(per_image, kImagePixels);
    EXPECT_EQ(alone, pad ? kPaddedCycles : kInnerCycles);
    RecordProperty(pad ? "cycles_padded" : "cycles_inner", static_cast<int>(per_image));
  }
}

// The unit of [SSL] convolved its second image wrongly (section 8.1).
TEST_F(ConvolutionBench, KeepsNothingOfThePreviousImage) {
  Kernels kernels{};
  kernels.fill({2047, 2047, 2047, 2047, 2047, 2047, 2047, 2047, 2047});
  kernels.back() = {2, 0, 0, 0, 140, 0, 0, 0, -3};
  Configure(kernels, kCoefficientShift, true);
  std::vector<Image> images = {Image{}, Image{}, Image{}, Image{}};
  images[1].fill(255);
  images[3].fill(100);
  Check(images, {});
}

TEST_F(ConvolutionBench, FinishesAnImageWithoutTheNextOne) {
  for (int i = 0; i < 5; ++i) {
    Configure(BenchKernels<kChannels>(random_), kCoefficientShift, i % 2 == 0);
    Check(BenchImages(random_, 1), {});
    EXPECT_TRUE(bench_.StaysSilent(50));
  }
}

TEST_F(ConvolutionBench, StartsAgainAfterAResetInTheMiddleOfAnImage) {
  Configure(BenchKernels<kChannels>(random_), kCoefficientShift, true);
  Check(BenchImages(random_, 1), {});
  for (int i = 0; i < 100; ++i) bench_.source().Push(99);
  bench_.StaysSilent(120);
  bench_.sink().Take();
  bench_.Reset();
  Check(BenchImages(random_, 3), {});
}

}  // namespace
}  // namespace tributary::fpga
