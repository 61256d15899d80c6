// A training has the same bits on processors with vectors of different lengths.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/nn/encoder/self_supervised_trainer.h"
#include "core/nn/encoder/strong_augmenter.h"
#include "core/nn/kernel/random_stream.h"
#include "hwy/targets.h"

namespace tributary::nn {
namespace {

class VectorLengthTest : public ::testing::Test {
 protected:
  ~VectorLengthTest() override { hwy::SetSupportedTargetsForTest(0); }

  // The parameters after three steps as on a processor that has this target alone.
  static std::vector<float> Trained(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    SelfSupervisedOptions options = FreshOptions(SelfSupervisedMethod::kSimClr);
    options.encoder.side = 12;
    options.encoder.channels = {4, 8};
    options.encoder.grid = 2;
    options.batch = 24;  // no multiple of a vector of 16
    const auto trainer = *SelfSupervisedTrainer::Create(options, CreateStrongAugmenter({.side = 12}));
    std::vector<std::uint8_t> images(options.batch * options.encoder.image().size());
    RandomStream random(8);
    for (auto& pixel : images) pixel = static_cast<std::uint8_t>(random.Below(256));
    for (int step = 0; step < 3; ++step) (void)trainer->Step(images);
    return {trainer->parameters().begin(), trainer->parameters().end()};
  }
};

TEST_F(VectorLengthTest, DoesNotChangeABitOfATraining) {
  std::vector<std::vector<float>> trained;
  const std::int64_t here = hwy::SupportedTargets();
  // Those of amd64 that fuse a product and a sum: others round twice.
  for (const std::int64_t target : {HWY_AVX2, HWY_AVX3}) {
    if ((here & target) != 0) trained.push_back(Trained(target));
  }
  if (trained.size() < 2)
    GTEST_SKIP() << "needs a processor with vectors of two lengths, as AVX2 and AVX-512";
  EXPECT_EQ(trained[0], trained[1]);
}

}  // namespace
}  // namespace tributary::nn
