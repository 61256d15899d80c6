#include "core/parameters/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace tributary::parameters {
namespace {

TensorSet OneTensor() {
  TensorSet set;
  set.tensors["w"] = FloatTensor(std::array<std::uint64_t, 2>{2, 1}, std::array<float, 2>{1.0f, -2.0f});
  return set;
}

// sha256sum of the 60 bytes that the definition gives, written out by hand.
TEST(ParameterIdentityTest, IsTheDigestOfTheDocumentedBytes) {
  EXPECT_EQ(HexOf(ParameterIdentity(OneTensor())),
            "41bc2cf63d5a250dcae0e0196cbfb8391cdf5d66432d380d327294f97dc1d486");
}

TEST(ParameterIdentityTest, OfNothingIsTheDigestOfNothing) {
  EXPECT_EQ(HexOf(ParameterIdentity({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(ParameterIdentityTest, LeavesMetadataOut) {
  TensorSet renamed = OneTensor();
  renamed.metadata["name"] = "another";
  EXPECT_EQ(ParameterIdentity(renamed), ParameterIdentity(OneTensor()));
}

TEST(ParameterIdentityTest, ChangesWithNameTypeShapeAndValue) {
  const Sha256 identity = ParameterIdentity(OneTensor());
  TensorSet set = OneTensor();
  set.tensors["v"] = set.tensors.extract("w").mapped();
  EXPECT_NE(ParameterIdentity(set), identity);
  set = OneTensor();
  set.tensors["w"].type = ElementType::kInt32;
  EXPECT_NE(ParameterIdentity(set), identity);
  set = OneTensor();
  set.tensors["w"].shape = {1, 2};
  EXPECT_NE(ParameterIdentity(set), identity);
  set = OneTensor();
  set.tensors["w"].bytes.back() ^= std::byte{1};
  EXPECT_NE(ParameterIdentity(set), identity);
}

TEST(ParameterIdentityTest, OfAFlatVectorIsThatOfItsTensors) {
  TensorSet set = OneTensor();
  set.tensors["z"] = FloatTensor(std::array<std::uint64_t, 1>{1}, std::array<float, 1>{3.0f});
  const std::array<TensorShape, 2> tensors = {TensorShape{"w", {2, 1}}, TensorShape{"z", {1}}};
  EXPECT_EQ(FlatIdentity(tensors, std::array<float, 3>{1.0f, -2.0f, 3.0f}), ParameterIdentity(set));
}

TEST(SchemaIdentityTest, ChangesWithNameAndShapeButNotWithValues) {
  const Sha256 identity = SchemaIdentity(OneTensor());
  TensorSet set = OneTensor();
  set.tensors["w"].bytes.back() ^= std::byte{1};
  EXPECT_EQ(SchemaIdentity(set), identity);
  set.tensors["w"].shape = {1, 2};
  EXPECT_NE(SchemaIdentity(set), identity);
}

}  // namespace
}  // namespace tributary::parameters
