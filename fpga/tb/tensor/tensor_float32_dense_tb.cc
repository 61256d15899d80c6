#include "fpga/model/tensor_float.h"
#include "fpga/model/tensor_float32.h"
#include "fpga/tb/tensor/float_dense_bench.h"

namespace tributary::fpga {
namespace {

struct Float32Format {
  using Bits = std::uint32_t;
  static constexpr bool kTwoVectors = false;
  static constexpr auto AddGroup = AddFloat32Group;
  static constexpr auto ResultOf = LimitedFloat<Bits>;
  static Bits Next(const RandomFloats& numbers, std::mt19937_64& random) {
    return numbers.NextFloat32(random);
  }
  static void SetLimits(auto& command, Bits low, Bits high) {
    command[12] = low;
    command[13] = high;
  }
};
using TensorFloat32DenseTest = FloatDenseBench<Float32Format>;

TEST_F(TensorFloat32DenseTest, AddsGroupsBitForBit) {
  Run(300);
  EXPECT_GT(compared_, 40'000);
}

}  // namespace
}  // namespace tributary::fpga
