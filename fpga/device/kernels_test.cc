// The kernels other than positioning under XRT, each against its golden model.
#include <gtest/gtest.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/augmentation.h"
#include "fpga/model/beacon_image.h"
#include "fpga/model/fusion_model.h"
#include "fpga/model/kernel_interface.h"
#include "fpga/model/modulation_image.h"
#include "fpga/model/modulation_int8.h"
#include "fpga/model/positioning_image.h"
#include "fpga/model/random_modulation_fixture.h"
#include "tests/support/own_folder.h"

namespace tributary::device {
namespace {

using Words = std::vector<std::uint64_t>;

struct RunArguments {
  std::uint32_t frames = 0;
  std::uint32_t configuration = 0;
  std::uint32_t seed = 0;
};

class KernelsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  }

  // Runs a kernel once and returns its output, without the report.
  static Words Run(const std::string& name, const RunArguments& arguments, const Words& input,
                   const Words& parameters, std::size_t output_words) {
    const std::string path = OwnFolder() + name + ".xclbin";
    std::ofstream(path, std::ios::binary) << WriteXclbin({.kernels = {{name, 1}}}).value();
    xrt::device device(0);
    const xrt::uuid uuid = device.load_xclbin(path);
    xrt::kernel kernel(device, uuid, name);
    const auto buffer = [&](int argument, const Words& words) {
      constexpr std::size_t kPage = 4096;
      const std::size_t bytes = 8 * words.size() / kPage * kPage + kPage;
      xrt::bo allocated(device, bytes, xrt::bo::flags::cacheable,
                        static_cast<xrt::memory_group>(kernel.group_id(argument)));
      std::copy(words.begin(), words.end(), allocated.map<std::uint64_t*>());
      allocated.sync(XCL_BO_SYNC_BO_TO_DEVICE);
      return allocated;
    };
    // A run does not keep its buffers alive.
    xrt::bo in = buffer(fpga::kInputArgument, input);
    xrt::bo out = buffer(fpga::kOutputArgument, Words(output_words + fpga::KernelReport::kWords));
    xrt::bo load = buffer(fpga::kParametersArgument, parameters);
    xrt::run run = kernel(in, out, load, arguments.frames, static_cast<std::uint32_t>(parameters.size()),
                          arguments.configuration, arguments.seed);
    EXPECT_EQ(run.wait(std::chrono::seconds(60)), ERT_CMD_STATE_COMPLETED);
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const auto* words = out.map<const std::uint64_t*>();
    const fpga::KernelReport report{words[output_words], words[output_words + 1]};
    EXPECT_TRUE(report.valid());
    EXPECT_FALSE(report.read_failed() || report.write_failed());
    EXPECT_EQ(report.frames_done(), arguments.frames);
    cycles_ = report.cycles;
    return {words, words + output_words};
  }

  inline static std::uint64_t cycles_ = 0;  // of the last run
};

class FusionKernelTest : public KernelsTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(FusionKernelTest, ConflatesAsItsModelWithAndWithoutSoftplus) {
  const std::size_t panels = GetParam();
  constexpr std::uint32_t kFrames = 100;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> position(-10.0f, 10.0f), magnitude(-5.0f, 3.0f), skew(-1.0f, 1.0f);
  for (const bool softplus : {false, true}) {
    const auto diagonal = [&] {
      return softplus ? magnitude(random) : std::pow(10.0f, 0.5f * magnitude(random));
    };
    std::vector<fpga::FusionTuple> tuples(kFrames * panels), fused(kFrames);
    for (fpga::FusionTuple& tuple : tuples) {
      tuple = {position(random), position(random), diagonal(), skew(random), diagonal()};
    }
    for (std::size_t frame = 0; frame < kFrames; ++frame) {
      fused[frame] = fpga::Fuse(std::span(tuples).subspan(frame * panels, panels), softplus);
    }
    Words input(fpga::kFusionTupleWords * tuples.size()), expected(fpga::kFusionTupleWords * fused.size());
    fpga::FusionTupleWords(tuples, input);
    fpga::FusionTupleWords(fused, expected);
    const std::uint32_t configuration = fpga::FusionConfiguration(panels, softplus);
    EXPECT_EQ(
        Run("fusion_kernel", {.frames = kFrames, .configuration = configuration}, input, {}, expected.size()),
        expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Panels, FusionKernelTest, testing::Values(1, 3, 4));

class BeaconKernelTest : public KernelsTest {
 protected:
  static fpga::BeaconModel RandomNetwork(std::mt19937& random) {
    nn::BeaconNetwork network;
    std::uniform_real_distribution<double> weight(-4.0, 4.0);
    for (double& parameter : network.parameters) parameter = weight(random);
    return fpga::BeaconModel(network);
  }

  static Words Parameters(const fpga::BeaconModel& model) {
    const fpga::BeaconParameterWords words = fpga::ToBeaconWords(model.weights());
    return {words.begin(), words.end()};
  }
};

TEST_F(BeaconKernelTest, GivesThePositionsOfItsModelInBurstsOfThousands) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int32_t> range(-1024, 1023);
  for (const std::uint32_t samples : {1u, 15u, 5000u}) {
    const fpga::BeaconModel model = RandomNetwork(random);
    Words input(samples);
    std::vector<fpga::BeaconModel::Outputs> expected(samples), outputs(samples);
    for (std::size_t i = 0; i < samples; ++i) {
      const fpga::BeaconModel::Inputs inputs = {range(random), range(random), range(random)};
      input[i] = fpga::BeaconInputWord(inputs);
      expected[i] = model.Run(inputs);
    }
    const Words words = Run("beacon_kernel", {.frames = samples}, input, Parameters(model), samples);
    std::ranges::transform(words, outputs.begin(), fpga::BeaconOutputsOf);
    EXPECT_EQ(outputs, expected) << samples;
    // Five a sample, and the transfers before and after.
    EXPECT_LE(cycles_, 5 * samples + 120);
    std::cout << "beacon_kernel: " << samples << " samples with their weights " << cycles_ << " cycles\n";
  }
}

TEST_F(BeaconKernelTest, GivesItsWeightsBack) {
  std::mt19937 random(12);
  const Words parameters = Parameters(RandomNetwork(random));
  Words numbers(parameters.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  EXPECT_EQ(Run("beacon_kernel",
                {.frames = fpga::kBeaconParameterWords, .configuration = fpga::BeaconConfiguration::kRead},
                numbers, parameters, numbers.size()),
            parameters);
}

class ModulationKernelTest : public KernelsTest,
                             public testing::WithParamInterface<fpga::ModulationKernel> {};

INSTANTIATE_TEST_SUITE_P(Columns, ModulationKernelTest, testing::ValuesIn(fpga::kModulationKernels),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(ModulationKernelTest, GivesTheLogitsOfItsModelForTwoNetworks) {
  constexpr std::uint32_t kBursts = 20;
  std::mt19937 random(9);
  for (const fpga::TrainedModulation& trained : {fpga::RandomTable4(1), fpga::RandomCompact(2)}) {
    const absl::StatusOr<fpga::Int8Modulation> network = fpga::MakeInt8Modulation(trained);
    ASSERT_TRUE(network.ok()) << network.status();
    const absl::StatusOr<Words> parameters = fpga::ModulationParameterWords(*network, GetParam().parallelism);
    ASSERT_TRUE(parameters.ok()) << parameters.status();
    const auto* const probe =
        std::ranges::find(fpga::kKernelProbes, GetParam().name, &fpga::KernelProbe::kernel);
    ASSERT_NE(probe, fpga::kKernelProbes.end());
    EXPECT_EQ(probe->parameter_words, parameters->size());
    Words input(kBursts * fpga::kModulationInputWords);
    std::vector<std::int32_t> expected;
    for (std::size_t burst = 0; burst < kBursts; ++burst) {
      std::vector<std::int8_t> samples(fpga::kModulationInputs);
      for (std::int8_t& sample : samples) sample = static_cast<std::int8_t>(random());
      fpga::ModulationBurstWords(samples, std::span(input).subspan(burst * fpga::kModulationInputWords,
                                                                   fpga::kModulationInputWords));
      const std::vector<std::int32_t> logits = fpga::RunInt8Layers(*network, samples);
      expected.insert(expected.end(), logits.begin(), logits.end());
    }
    const Words words = Run(std::string(GetParam().name), {.frames = kBursts}, input, *parameters,
                            kBursts * fpga::kModulationOutputWords);
    std::vector<std::int32_t> logits(expected.size());
    fpga::PositioningResults(words, logits);
    EXPECT_EQ(logits, expected);
  }
}

class AugmentConvolveKernelTest : public KernelsTest {
 protected:
  static constexpr std::size_t kChannels = 4;
  static constexpr int kShift = 7;
  static constexpr std::uint32_t kSeed = 0x155'1234;
  using Bits = fpga::AugmentConfiguration;

  AugmentConvolveKernelTest() {
    for (fpga::Image& image : images_) {
      for (std::uint8_t& pixel : image) pixel = static_cast<std::uint8_t>(random_());
      AppendBytes(image, input_);
    }
    for (fpga::Kernel& kernel : kernels_) {
      for (std::int16_t& tap : kernel)
        tap = static_cast<std::int16_t>(static_cast<int>(random_() % 256) - 128);
      for (std::size_t row = 0; row < fpga::kKernelSide; ++row) {
        std::uint64_t word = 0;
        for (std::size_t column = 0; column < fpga::kKernelSide; ++column) {
          const auto tap = static_cast<std::uint16_t>(kernel[row * fpga::kKernelSide + column]);
          word |= std::uint64_t{tap} << (16 * column);
        }
        parameters_.push_back(word);
      }
    }
    parameters_.push_back(kShift);
  }

  static void AppendBytes(std::span<const std::uint8_t> bytes, Words& words) {
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      std::uint64_t word = 0;
      for (std::size_t b = 0; b < 8 && i + b < bytes.size(); ++b)
        word |= std::uint64_t{bytes[i + b]} << (8 * b);
      words.push_back(word);
    }
  }

  void AppendChannels(const fpga::Image& image, bool pad, Words& words) const {
    std::array<std::vector<std::uint8_t>, kChannels> channels;
    for (std::size_t c = 0; c < kChannels; ++c)
      channels[c] = fpga::Convolve(image, fpga::kImageSide, kernels_[c], kShift, pad);
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < channels[0].size(); ++i) {
      for (const auto& channel : channels) bytes.push_back(channel[i]);
    }
    AppendBytes(bytes, words);
  }

  std::mt19937 random_{7};
  std::array<fpga::Image, 8> images_;
  std::array<fpga::Kernel, kChannels> kernels_;
  Words input_, parameters_;
};

TEST_F(AugmentConvolveKernelTest, GivesTwoAugmentedViewsOfEachImage) {
  fpga::AugmentationSequence sequence(kSeed, {});
  Words expected;
  for (const fpga::Image& image : images_) {
    for (int view = 0; view < 2; ++view) AppendBytes(fpga::Augment(image, sequence.Next()), expected);
  }
  EXPECT_EQ(Run("augment_convolve_kernel",
                {.frames = static_cast<std::uint32_t>(images_.size()),
                 .configuration = Bits::kAugment | Bits::kTwoViews | Bits::kSetSeed,
                 .seed = kSeed},
                input_, parameters_, expected.size()),
            expected);
}

TEST_F(AugmentConvolveKernelTest, ConvolvesWhatItAugmentsWithAndWithoutABorder) {
  for (const bool pad : {false, true}) {
    fpga::AugmentationSequence sequence(kSeed, {});
    Words expected;
    for (const fpga::Image& image : images_)
      AppendChannels(fpga::Augment(image, sequence.Next()), pad, expected);
    EXPECT_EQ(
        Run("augment_convolve_kernel",
            {.frames = static_cast<std::uint32_t>(images_.size()),
             .configuration = Bits::kAugment | Bits::kConvolve | (pad ? Bits::kPad : 0) | Bits::kSetSeed,
             .seed = kSeed},
            input_, parameters_, expected.size()),
        expected)
        << "pad " << pad;
  }
}

}  // namespace
}  // namespace tributary::device
