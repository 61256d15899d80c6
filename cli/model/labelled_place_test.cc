#include "cli/model/labelled_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/encoder/classifier_file.h"
#include "core/nn/encoder/supervised_trainer.h"
#include "core/parameters/safetensors.h"
#include "core/runtime/file.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

class LabelledPlaceTest : public ::testing::Test {
 protected:
  static parameters::TensorSet Model(std::size_t classes, std::optional<std::uint64_t> head_seed = 9) {
    nn::ClassifierFile file{
        .encoder = {.side = 12, .channels = {3, 5}, .grid = 2, .norm = nn::EncoderNorm::kNone},
        .classes = classes,
        .parameters = {},
        .head_seed = head_seed};
    file.parameters = nn::FreshClassifier(file.encoder, classes, 4);
    return *parameters::DecodeSafetensors(nn::EncodeClassifier(file));
  }

  static absl::StatusOr<parameters::TensorSet> Fit(const parameters::TensorSet& model,
                                                   const std::vector<std::uint8_t>& labels) {
    const std::string path = ::testing::TempDir() + "/labels.idx";
    std::string idx("\0\0\x08\x01\0\0\0", 7);
    idx.push_back(static_cast<char>(labels.size()));
    idx.append(labels.begin(), labels.end());
    EXPECT_TRUE(runtime::WriteFileAtomically(path, idx).ok());
    return FittedToLabels(model, "m", path);
  }

  static std::vector<float> Bias(const parameters::TensorSet& set) {
    const parameters::Tensor& bias = set.tensors.at("head.bias");
    return *parameters::FloatValues("head.bias", bias, bias.shape);
  }
};

// The same classifier as a node with these labels has: rows of the drawn head, logarithms of its classes.
TEST_F(LabelledPlaceTest, DrawsTheHeadThatAModelHasNot) {
  const auto fitted = Fit(Model(0), {2, 2, 2, 0});
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const nn::ClassifierFile classifier = *nn::ClassifierFromTensors(*fitted);
  EXPECT_EQ(classifier.classes, 3u);
  std::vector<float> expected = nn::FreshClassifier(classifier.encoder, 3, 9);
  const std::vector<float> weights(expected.end() - 3 * 20, expected.end());
  EXPECT_EQ(std::vector<float>(classifier.parameters.end() - 3 * 20, classifier.parameters.end()), weights);
  const std::vector<float> bias = Bias(*fitted);
  ASSERT_EQ(bias.size(), 3u);
  EXPECT_NEAR(bias[0], std::log(1.1 / 4.3), 1e-6);
  EXPECT_NEAR(bias[1], std::log(0.1 / 4.3), 1e-6);
  EXPECT_NEAR(bias[2], std::log(3.1 / 4.3), 1e-6);
  EXPECT_EQ(fitted->metadata.at("output.shape"), "N,3");
}

TEST_F(LabelledPlaceTest, ShiftsTheLogitsOfAHeadThatAModelHas) {
  const parameters::TensorSet model = Model(4);
  const auto fitted = Fit(model, {0, 0, 1});
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_NEAR(Bias(*fitted)[0] - Bias(model)[0], std::log(2.1 / 3.4), 1e-6);
  EXPECT_NEAR(Bias(*fitted)[3] - Bias(model)[3], std::log(0.1 / 3.4), 1e-6);
  EXPECT_EQ(fitted->tensors.at("head.weight").bytes, model.tensors.at("head.weight").bytes);
}

// Priors that are added twice would be those of no place.
TEST_F(LabelledPlaceTest, RefusesAModelThatHasPriors) {
  const auto fitted = Fit(Model(4), {0, 0, 1});
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_THAT(std::string(Fit(*fitted, {0, 0, 1}).status().message()), HasSubstr("as the run has it"));
}

TEST_F(LabelledPlaceTest, SaysWhatDoesNotFit) {
  EXPECT_THAT(std::string(Fit(Model(4), {4}).status().message()),
              HasSubstr("label 4, and m tells 4 classes"));
  EXPECT_THAT(std::string(Fit(Model(0, {}), {1}).status().message()), HasSubstr("head_seed"));
  EXPECT_THAT(std::string(Fit({}, {1}).status().message()), HasSubstr("m: "));
  EXPECT_FALSE(FittedToLabels(Model(4), "m", "/nowhere").ok());
}

}  // namespace
}  // namespace tributary::cli
