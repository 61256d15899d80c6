#include "core/nn/modulation/modulation_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "core/parameters/safetensors.h"

namespace tributary::nn {
namespace {

using ::testing::HasSubstr;

TEST(ModulationArchitectureTest, Table4IsThatOfTheReport) {
  const ModulationArchitecture* table4 = FindModulationArchitecture("table4");
  ASSERT_NE(table4, nullptr);
  EXPECT_EQ(SequenceShapes(kModulationInput, table4->layers),
            (std::vector<SequenceShape>{{32, 121}, {32, 60}, {16, 45}, {16, 22}, {64, 1}, {32, 1}, {10, 1}}));
  EXPECT_EQ(ParameterLayout(table4->tensors()).size(),
            32u * 16 + 32 + 16 * 32 * 16 + 16 + 352 * 64 + 64 * 32 + 32 * 10);
}

TEST(ModulationArchitectureTest, CompactIsSmallEnoughForTheLogic) {
  const ModulationArchitecture* compact = FindModulationArchitecture("compact");
  ASSERT_NE(compact, nullptr);
  EXPECT_EQ(SequenceShapes(kModulationInput, compact->layers),
            (std::vector<SequenceShape>{
                {24, 117}, {24, 58}, {24, 52}, {24, 26}, {32, 22}, {32, 11}, {32, 1}, {10, 1}}));
  EXPECT_EQ(ParameterLayout(compact->tensors()).size(), 8'858u);
  EXPECT_EQ(SequenceMultiplications(kModulationInput, compact->layers), 361'856u);
}

TEST(ModulationArchitectureTest, DeepIsSmallEnoughForTheLogic) {
  const ModulationArchitecture* deep = FindModulationArchitecture("deep");
  ASSERT_NE(deep, nullptr);
  EXPECT_EQ(SequenceShapes(kModulationInput, deep->layers), (std::vector<SequenceShape>{{16, 121},
                                                                                        {24, 117},
                                                                                        {24, 58},
                                                                                        {24, 54},
                                                                                        {24, 27},
                                                                                        {32, 24},
                                                                                        {32, 12},
                                                                                        {32, 12},
                                                                                        {32, 1},
                                                                                        {10, 1}}));
  EXPECT_EQ(ParameterLayout(deep->tensors()).size(), 9'610u);
  EXPECT_EQ(SequenceMultiplications(kModulationInput, deep->layers), 497'472u);
}

TEST(ModulationArchitectureTest, EveryOneEndsWithALogitForEachClass) {
  for (const ModulationArchitecture& architecture : ModulationArchitectures()) {
    EXPECT_EQ(SequenceShapes(kModulationInput, architecture.layers).back(),
              (SequenceShape{kModulationClasses, 1}));
    EXPECT_EQ(FindModulationArchitecture(architecture.name), &architecture);
  }
  EXPECT_EQ(FindModulationArchitecture("resnet"), nullptr);
}

TEST(ModulationFileTest, ReturnsWhatWasWritten) {
  for (const ModulationArchitecture& architecture : ModulationArchitectures()) {
    const ModulationNetwork network = RandomModulationNetwork(architecture);
    const auto read = DecodeModulation(EncodeModulation(network));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->architecture, &architecture);
    EXPECT_EQ(read->classes, network.classes);
    EXPECT_EQ(read->parameters, network.parameters);
    EXPECT_EQ(read->temperature, network.temperature);
    EXPECT_EQ(read->activation_range, network.activation_range);
    EXPECT_EQ(read->name, "random");
    EXPECT_EQ(read->sha256.size(), 64u);
  }
}

class HostileModulationFileTest : public ::testing::Test {
 protected:
  // What DecodeModulation says of a file after a change of its content.
  static std::string Refusal(const std::function<void(parameters::TensorSet&)>& change) {
    auto set = parameters::DecodeSafetensors(
        EncodeModulation(RandomModulationNetwork(ModulationArchitectures().front())));
    EXPECT_TRUE(set.ok());
    change(*set);
    const auto read = DecodeModulation(parameters::EncodeSafetensors(*set));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(read.status().message());
  }

  static std::string RefusedTensor(const std::string& name, const Shape& shape, float value) {
    return Refusal([&](parameters::TensorSet& set) {
      std::size_t size = 1;
      for (const std::uint64_t side : shape) size *= side;
      set.tensors.insert_or_assign(name, parameters::FloatTensor(shape, std::vector<float>(size, value)));
    });
  }

  static std::string RefusedMetadata(const std::string& key, const std::string& value) {
    return Refusal([&](parameters::TensorSet& set) { set.metadata.insert_or_assign(key, value); });
  }
};

TEST_F(HostileModulationFileTest, RefusesOtherConventionsAndNetworks) {
  EXPECT_THAT(RefusedMetadata("kind", "positioning"), HasSubstr("not a modulation model"));
  EXPECT_THAT(RefusedMetadata("input", "raw"), HasSubstr("input"));
  EXPECT_THAT(RefusedMetadata("network", "resnet"), HasSubstr("table4, compact"));
  EXPECT_THAT(RefusedMetadata("network", "compact"), HasSubstr("tensor"));  // another one's tensors
}

TEST_F(HostileModulationFileTest, RefusesClassesThatAreNotTenDifferentNames) {
  for (const char* classes :
       {"", "a", "a,b,c,d,e,f,g,h,i", "a,b,c,d,e,f,g,h,i,j,k", "a,b,c,d,e,f,g,h,i,a", "a,b,c,d,e,f,g,h,i,"}) {
    EXPECT_THAT(RefusedMetadata("classes", classes), HasSubstr("classes")) << classes;
  }
}

TEST_F(HostileModulationFileTest, RefusesTensorsThatAreMissingLeftOverOrOfAnotherShape) {
  EXPECT_THAT(Refusal([](parameters::TensorSet& set) { set.tensors.erase("dense2.weight"); }),
              HasSubstr("dense2.weight"));
  EXPECT_THAT(RefusedTensor("dense9.weight", {2}, 0), HasSubstr("tensors"));
  EXPECT_THAT(RefusedTensor("dense2.weight", {64, 32}, 0), HasSubstr("dense2.weight"));
}

TEST_F(HostileModulationFileTest, RefusesValuesThatCannotBeUsed) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  for (const float value : {nan, infinity, -infinity}) {
    EXPECT_THAT(RefusedTensor("convolution1.bias", {32}, value), HasSubstr("not finite"));
  }
  for (const float value : {nan, infinity, 0.0f, -1.0f}) {
    EXPECT_THAT(RefusedTensor("calibration.temperature", {1}, value), HasSubstr("temperature"));
    EXPECT_THAT(RefusedTensor("calibration.activation_range", {8}, value), HasSubstr("activation_range"));
  }
}

TEST_F(HostileModulationFileTest, RefusesADamagedFile) {
  std::string file = EncodeModulation(RandomModulationNetwork(ModulationArchitectures().front()));
  EXPECT_FALSE(DecodeModulation("").ok());
  EXPECT_FALSE(DecodeModulation(file.substr(0, file.size() - 1)).ok());
}

}  // namespace
}  // namespace tributary::nn
