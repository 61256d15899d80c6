#include "core/graph/npy_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/parameters/npy.h"

namespace tributary::graph {
namespace {

using ::testing::HasSubstr;

TEST(NpyArrayTest, EveryTypeComesBack) {
  for (const ElementType type : {ElementType::kFloat32, ElementType::kInt8, ElementType::kUint8,
                                 ElementType::kInt32, ElementType::kInt64, ElementType::kBool}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0}, Shape{2, 3}}) {
      Array array({type, shape});
      for (std::size_t i = 0; i < array.bytes.size(); ++i) array.bytes[i] = static_cast<std::byte>(i % 2);
      const auto again = DecodeArray(EncodeArray(array.view()));
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->spec, array.spec);
      EXPECT_EQ(again->bytes, array.bytes);
    }
  }
}

TEST(NpyArrayTest, RefusesOtherTypesAndSizes) {
  const std::uint64_t two[] = {2}, huge[] = {std::uint64_t{1} << 40};
  const auto fault = [](const std::string& file) {
    return std::string(DecodeArray(file).status().message());
  };
  EXPECT_THAT(fault(parameters::EncodeNpy("<c8", two, std::string(16, ' '))), HasSubstr("<c8"));
  EXPECT_THAT(fault(parameters::EncodeNpy("<i4", two, std::string(7, ' '))), HasSubstr("7 bytes do not fit"));
  EXPECT_THAT(fault(parameters::EncodeNpy("<i4", huge, "")), HasSubstr("too large"));
  EXPECT_THAT(fault("no array"), HasSubstr("not an npy file"));
}

}  // namespace
}  // namespace tributary::graph
