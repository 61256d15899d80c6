// The tensor kernel with 16 lanes and bfloat16 against the golden model.
#include "Vtensor_bfloat.h"
#include "fpga/tb/tensor/random_programs.h"
#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

class TensorBfloatTest : public testing::Test {
 protected:
  TensorBench<Vtensor_bfloat> bench_{{.lanes = 16, .activations = 4096, .bfloat16 = true}};
};

TEST_F(TensorBfloatTest, MatchesTheGoldenModelUnderRandomPrograms) { ExpectRandomProgramsMatch(bench_, 12); }

TEST_F(TensorBfloatTest, MatchesTheGoldenModelInBfloat16) { ExpectBfloatProgramsMatch(bench_, 12); }

}  // namespace
}  // namespace tributary::fpga
