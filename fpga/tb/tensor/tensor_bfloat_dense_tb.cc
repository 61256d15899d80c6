#include "fpga/model/tensor_bfloat.h"
#include "fpga/tb/tensor/float_dense_bench.h"

namespace tributary::fpga {
namespace {

struct Bfloat16Format {
  using Bits = std::uint16_t;
  static constexpr bool kTwoVectors = true;
  static constexpr auto AddGroup = AddBfloatGroup;
  static constexpr auto ResultOf = BfloatOutputOf;
  static Bits Next(const RandomFloats& numbers, std::mt19937_64& random) {
    return numbers.NextBfloat16(random);
  }
  static void SetLimits(auto& command, Bits low, Bits high) {
    command[12] = std::uint32_t{low} << 16;
    command[13] = high;
  }
};
using TensorBfloatDenseTest = FloatDenseBench<Bfloat16Format>;

TEST_F(TensorBfloatDenseTest, AddsGroupsBitForBit) {
  Run(200);
  EXPECT_GT(compared_, 40'000);
}

}  // namespace
}  // namespace tributary::fpga
