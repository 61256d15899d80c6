#include "core/graph/quantised/byte_kernels.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/quantised/layer_fixture.h"
#include "hwy/targets.h"

namespace tributary::graph {
namespace {

using testing::Opened;
using testing::QdqModel;

class ByteKernelsTest : public ::testing::Test {
 protected:
  ~ByteKernelsTest() override { hwy::SetSupportedTargetsForTest(0); }

  // What a processor that has this target alone gives for all kinds of kernels.
  static std::vector<std::byte> Results(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    QdqModel qdq(59);
    const Quantisation grid{ElementType::kUint8, 0.02f, 111};
    const std::string x = qdq.Input("x", {2, 21, 9, 11}, grid);
    const auto finish = [&](const std::string& value) { qdq.model().Output(qdq.Quantised(value, grid)); };
    finish(qdq.Node("Conv", {x, qdq.Weights({50, 21, 3, 3}, 2e-3f, 0), qdq.Bias(50, 0.02f, 9'000)}));
    finish(qdq.Node("Conv", {x, qdq.Weights({21, 1, 3, 3}, 6e-3f, 0)}, {{"group", 21}}));
    finish(qdq.Node("Add", {x, qdq.Node("Conv", {x, qdq.Weights({21, 21, 1, 1}, 2e-3f, 0)})}));
    finish(qdq.Node("Add", {x, x}));
    finish(qdq.Node("GlobalAveragePool", {x}));
    const auto session = Opened(qdq.model(), Arithmetic::kIntegers);
    const Array bytes = qdq.Bytes(session->inputs()[0].spec);
    const View views[] = {bytes.view()};
    EXPECT_TRUE(session->Run(views).ok());
    std::vector<std::byte> all;
    for (std::size_t o = 0; o < session->outputs().size(); ++o) {
      const auto result = session->output(o).As<std::byte>();
      all.insert(all.end(), result.begin(), result.end());
    }
    return all;
  }
};

TEST_F(ByteKernelsTest, GiveTheSameBitsOnEveryProcessor) {
  const std::vector<std::byte> expected = Results(0);
  const std::int64_t here = hwy::SupportedTargets();
  int tried = 0;
  for (std::int64_t target = 1; target != 0 && target <= HWY_SCALAR; target <<= 1) {
    if ((here & target) == 0) continue;
    EXPECT_EQ(Results(target), expected) << hwy::TargetName(target);
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace tributary::graph
