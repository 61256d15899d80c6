#include "fpga/model/beacon_image.h"

#include <numeric>
#include <set>

#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

TEST(BeaconImageTest, EveryWeightHasAPlaceOfItsOwnAndComesBack) {
  BeaconWeights weights;
  std::iota(weights.begin(), weights.end(), -30);
  EXPECT_EQ(FromBeaconWords(ToBeaconWords(weights)), weights);
  weights.fill(-32768);
  weights[3] = 32767;
  EXPECT_EQ(FromBeaconWords(ToBeaconWords(weights)), weights);
}

TEST(BeaconImageTest, OrdersTheWordsAsTheBlockReadsThem) {
  BeaconWeights weights;
  std::iota(weights.begin(), weights.end(), 0);
  const BeaconParameterWords words = ToBeaconWords(weights);
  EXPECT_EQ(words[0], 0x0003'0002'0001'0000u);   // hidden neuron 0 and its bias
  EXPECT_EQ(words[9], 0x0027'0026'0025'0024u);   // hidden neuron 9
  EXPECT_EQ(words[10], 0x0034'0033'0029'0028u);  // outputs 0 and 1 of hidden neurons 0 and 1
  EXPECT_EQ(words[15], 0x0000'0000'003d'0032u);  // their biases
}

TEST(BeaconImageTest, SamplesAndPositionsKeepTheirSigns) {
  EXPECT_EQ(BeaconInputWord({-1, 1023, -1024}), 0x0000'fc00'03ff'ffffu);
  EXPECT_EQ(BeaconOutputsOf(0x0000'03ff'ffff'fc00u), (BeaconModel::Outputs{-1024, 1023}));
}

}  // namespace
}  // namespace tributary::fpga
