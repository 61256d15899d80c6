#include "core/parameters/flat_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "core/parameters/safetensors.h"

namespace tributary::parameters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorSet TwoTensors() {
  TensorSet set;
  set.metadata["format"] = "test";
  set.tensors["b"] = FloatTensor(std::array<std::uint64_t, 1>{1}, std::array<float, 1>{3});
  set.tensors["a"] = FloatTensor(std::array<std::uint64_t, 2>{1, 2}, std::array<float, 2>{1, 2});
  return set;
}

TEST(FlatModelTest, HoldsTensorsInTheOrderOfTheirNames) {
  const auto model = DecodeFlatModel(EncodeSafetensors(TwoTensors()));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->values, ElementsAre(1, 2, 3));
  EXPECT_EQ(model->layout.schema_sha256, SchemaIdentity(TwoTensors()));
  EXPECT_EQ(FlatIdentity(model->layout.tensors, model->values), ParameterIdentity(TwoTensors()));
}

TEST(FlatModelTest, IsAFileAgainWithItsHeaderBeforeIt) {
  const auto model = DecodeFlatModel(EncodeSafetensors(TwoTensors()));
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string file = model->layout.file_header + std::string(BytesOf(model->values));
  EXPECT_EQ(file, EncodeSafetensors(TwoTensors()));
  EXPECT_EQ(file.size(), model->layout.file_bytes());
}

TEST(FlatModelTest, RefusesWhatIsNotAModelOfFiniteFloats) {
  TensorSet set = TwoTensors();
  set.tensors["b"].type = ElementType::kInt32;
  EXPECT_THAT(std::string(DecodeFlatModel(EncodeSafetensors(set)).status().message()),
              HasSubstr("\"b\" is I32"));
  EXPECT_EQ(DecodeFlatModel(EncodeSafetensors({})).status().code(), absl::StatusCode::kInvalidArgument);
  set.tensors["b"] = FloatTensor(std::array<std::uint64_t, 1>{1},
                                 std::array<float, 1>{std::numeric_limits<float>::infinity()});
  EXPECT_EQ(DecodeFlatModel(EncodeSafetensors(set)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DecodeFlatModel("nonsense").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tributary::parameters
