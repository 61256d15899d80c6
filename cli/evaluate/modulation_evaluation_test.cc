#include "cli/evaluate/modulation_evaluation.h"

#include <gtest/gtest.h>

#include "cli/model/model_source.h"

namespace tributary::cli {
namespace {

class ShippedModulationTest : public ::testing::Test {
 protected:
  static ModulationEvaluation Evaluate(radio::SnrDefinition snr,
                                       fpga::NumberFormat format = fpga::NumberFormat::kFloat,
                                       std::size_t transmissions = 10) {
    const auto model = LoadModulationModel(TRIBUTARY_SOURCE_DIR "/models/modulation.safetensors");
    EXPECT_TRUE(model.ok()) << model.status();
    ModulationEvaluationOptions options{
        .format = format, .domain = radio::ReferenceDomain(), .transmissions = transmissions};
    options.domain.snr = snr;
    const auto evaluation = EvaluateModulation(model->network, options);
    EXPECT_TRUE(evaluation.ok()) << evaluation.status();
    return *evaluation;
  }

  // By the true ratio, in single precision: measured once for all tests.
  static const ModulationEvaluation& ByTrueRatio() {
    static const ModulationEvaluation evaluation = Evaluate(radio::SnrDefinition::kTrue);
    return evaluation;
  }
};

// docs/models.md has the figures of more transmissions. 20,000 bursts give the accuracy a standard error of
// 0.4 %, 2,000 decisions 1.1 %; the bounds are five of them below.
TEST_F(ShippedModulationTest, IsAsGoodAsItsPageSaysByTheTrueRatio) {
  const ModulationEvaluation& evaluation = ByTrueRatio();
  const ClassificationFigures one = evaluation[0].all();
  EXPECT_GT(one.accuracy(), 0.525);
  EXPECT_GT(evaluation[0].by_snr.back().accuracy(), 0.82);
  EXPECT_LT(one.expected_calibration_error(), 0.04);
  EXPECT_GT(evaluation[2].all().accuracy(), 0.62);
}

TEST_F(ShippedModulationTest, IsAsGoodAsItsPageSaysByTheLabel) {
  EXPECT_GT(Evaluate(radio::SnrDefinition::kLabel)[0].all().accuracy(), 0.485);
}

TEST_F(ShippedModulationTest, LosesLittleInTheFormatOfTheBlock) {
  const double exact = ByTrueRatio()[0].all().accuracy();
  const double int8 = Evaluate(radio::SnrDefinition::kTrue, fpga::NumberFormat::kInt8, 2)[0].all().accuracy();
  EXPECT_GT(int8, exact - 0.03);  // 4,000 bursts: a standard error of 0.8 %
}

// Receivers of one burst share its symbols: the product is too certain, the pool less so.
TEST_F(ShippedModulationTest, ThePoolOfReceiversIsBetterCalibratedThanTheirProduct) {
  const ModulationEvaluation& evaluation = ByTrueRatio();
  const ClassificationFigures product = FindDecision(evaluation, "receivers_8").all();
  const ClassificationFigures pool = FindDecision(evaluation, "pool_8").all();
  EXPECT_LT(pool.expected_calibration_error(), product.expected_calibration_error());
  EXPECT_LT(pool.nll(), product.nll());
  EXPECT_GT(pool.accuracy(), product.accuracy() - 0.03);
}

TEST_F(ShippedModulationTest, MoreReceiversAreBetter) {
  const ModulationEvaluation& evaluation = ByTrueRatio();
  EXPECT_GT(evaluation[3].all().accuracy(), evaluation[0].all().accuracy());  // two
  EXPECT_GT(evaluation[5].all().accuracy(), evaluation[3].all().accuracy());  // four
}

TEST(ModulationEvaluationTest, RefusesOtherClasses) {
  nn::ModulationNetwork network;
  network.classes = {"BPSK"};
  EXPECT_EQ(EvaluateModulation(network, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::cli
