// The tensor kernel with 32 lanes and every precision against the golden model.
#include "Vtensor_wide.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

class TensorWideTest : public testing::Test {
 protected:
  TensorBench<Vtensor_wide> bench_{
      {.lanes = 32, .activations = 4096, .bfloat16 = true, .int16 = true, .int32 = true, .float32 = true}};
};

TEST_F(TensorWideTest, MatchesTheGoldenModelUnderRandomPrograms) { ExpectRandomProgramsMatch(bench_, 16); }

TEST_F(TensorWideTest, MatchesTheGoldenModelInBfloat16) {
  ExpectFloatProgramsMatch<std::uint16_t>(bench_, 12);
}

TEST_F(TensorWideTest, MatchesTheGoldenModelInInt16) { ExpectInt16ProgramsMatch(bench_, 12); }

TEST_F(TensorWideTest, MatchesTheGoldenModelInInt32) { ExpectInt32ProgramsMatch(bench_, 12); }

TEST_F(TensorWideTest, MatchesTheGoldenModelInFloat32) {
  ExpectFloatProgramsMatch<std::uint32_t>(bench_, 12);
}

}  // namespace
}  // namespace tributary::fpga
