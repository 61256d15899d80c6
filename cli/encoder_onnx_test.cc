#include "cli/encoder_onnx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "core/nn/random_stream.h"
#include "tests/support/own_folder.h"

namespace tributary {
namespace {

constexpr std::size_t kImages = 8;
constexpr int kSkipped = 77;

struct Case {
  const char* name;
  EncoderNorm norm;
  EncoderActivation activation;
  bool quantised;
  std::size_t side;
  std::size_t grid;
};

class EncoderOnnxTest : public ::testing::TestWithParam<Case> {
 protected:
  static std::vector<std::uint8_t> Images(std::size_t side) {
    std::vector<std::uint8_t> pixels(kImages * side * side);
    RandomStream random(3);
    for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
    return pixels;
  }

  // A few steps, so that every tensor (running statistics above all) has left its initial value.
  static std::unique_ptr<SelfSupervisedTrainer> Trained(const Case& c) {
    SelfSupervisedOptions options;
    options.encoder = {c.side, {4, 8}, c.grid, c.norm, c.activation, c.quantised};
    options.batch = kImages;
    auto trainer = *SelfSupervisedTrainer::Create(options);
    for (int i = 0; i < 5; ++i) (void)trainer->Step(Images(c.side));
    return trainer;
  }

  static void Write(const std::string& path, const void* bytes, std::size_t size) {
    std::ofstream(path, std::ios::binary)
        .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  }
};

TEST_P(EncoderOnnxTest, GivesTheSameFeatures) {
  const auto trainer = Trained(GetParam());
  const std::vector<std::uint8_t> images = Images(GetParam().side);
  const std::vector<float> expected = trainer->Features(images);
  const auto model =
      EncodeOnnx({trainer->options(), {trainer->parameters().begin(), trainer->parameters().end()}});
  ASSERT_TRUE(model.ok()) << model.status();

  const std::string stem = OwnFolder() + "encoder_onnx_" + GetParam().name;
  Write(stem + ".onnx", model->data(), model->size());
  Write(stem + ".images", images.data(), images.size());
  const int status =
      std::system(fmt::format("/usr/bin/python3 {}/cli/encoder_onnx_evaluate.py {}.onnx {}.images > {}.txt",
                              TRIBUTARY_SOURCE_DIR, stem, stem, stem)
                      .c_str());
  if (WIFEXITED(status) && (WEXITSTATUS(status) == kSkipped || WEXITSTATUS(status) == 127)) {
    GTEST_SKIP() << "needs /usr/bin/python3 with onnx and numpy (python3-onnx)";
  }
  ASSERT_EQ(status, 0);
  std::ifstream output(stem + ".txt");
  std::vector<float> features;
  for (float value = 0; output >> value;) features.push_back(value);
  ASSERT_EQ(features.size(), expected.size());
  // Quantised sums are exact in float32, and here each area is one pixel.
  const float tolerance = GetParam().quantised ? 1e-6f : 1e-4f;
  for (std::size_t i = 0; i < features.size(); ++i) EXPECT_NEAR(features[i], expected[i], tolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(
    EveryVariant, EncoderOnnxTest,
    ::testing::Values(Case{"batch_norm", EncoderNorm::kBatch, EncoderActivation::kRelu, false, 28, 3},
                      Case{"filter_response", EncoderNorm::kFilterResponse, EncoderActivation::kRelu, false,
                           15, 1},
                      Case{"hard_clip", EncoderNorm::kBatch, EncoderActivation::kHardClip, false, 12, 2},
                      Case{"quantised", EncoderNorm::kNone, EncoderActivation::kHardClip, true, 28, 7}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(EncoderOnnxOptionsTest, RefusesParametersOfAnotherModel) {
  EncoderFile encoder;
  encoder.parameters.resize(7);
  EXPECT_EQ(EncodeOnnx(encoder).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary
