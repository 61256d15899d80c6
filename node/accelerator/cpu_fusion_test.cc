#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "node/accelerator/create.h"
#include "node/accelerator/fusion_accelerator.h"

namespace tributary::accelerator {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// x, y, l11, l21, l22
using Row = std::vector<float>;
const Row kAbsent = {0, 0, kNan, 0, 0};
const Row kSouth = {1, 2, 0.5f, 0.1f, 0.3f};
const Row kEast = {1.2f, 2.1f, 0.4f, -0.1f, 0.2f};

Row Rows(std::initializer_list<Row> rows) {
  Row joined;
  for (const Row& row : rows) joined.insert(joined.end(), row.begin(), row.end());
  return joined;
}

Row Fused(std::size_t panels, const Row& tuples) {
  const auto fusion = CreateCpuFusion(panels, 8);
  const std::size_t batch = tuples.size() / (panels * FusionAccelerator::kValues);
  Row fused(batch * FusionAccelerator::kValues);
  const absl::Status status = (*fusion)->Infer(tuples, batch, fused);
  EXPECT_TRUE(status.ok()) << status;
  return fused;
}

Row Modelled(const fpga::FusionTuple& a, const fpga::FusionTuple& b) {
  const fpga::FusionTuple tuples[] = {a, b};
  const fpga::FusionTuple fused = fpga::Fuse(tuples, false);
  return {fused.x, fused.y, fused.l11, fused.l21, fused.l22};
}

TEST(CpuFusionTest, FusesEachSubjectFromThePanelsThatHaveIt) {
  const Row both = Modelled({1, 2, 0.5f, 0.1f, 0.3f}, {1.2f, 2.1f, 0.4f, -0.1f, 0.2f});
  EXPECT_EQ(Fused(3, Rows({kSouth, kAbsent, kEast,   //
                           kAbsent, kEast, kAbsent,  //
                           kSouth, kEast, kAbsent})),
            Rows({both, kEast, both}));
}

TEST(CpuFusionTest, ASubjectThatNobodyHasOrThatIsNotValidIsNan) {
  for (const Row& row : {Rows({kAbsent, kAbsent}), Rows({kSouth, {1, 2, -0.5f, 0, 1}})}) {
    for (const float value : Fused(2, row)) EXPECT_TRUE(std::isnan(value));
  }
}

TEST(CpuFusionTest, RefusesWhatTheBlockDoesNotFuse) {
  EXPECT_TRUE(absl::IsInvalidArgument(CreateCpuFusion(1, 8).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CreateCpuFusion(5, 8).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CreateCpuFusion(2, 0).status()));
  const auto fusion = CreateCpuFusion(2, 1);
  Row fused(5);
  EXPECT_TRUE(absl::IsInvalidArgument((*fusion)->Infer(kSouth, 1, fused)));
  Row two(10);
  EXPECT_TRUE(absl::IsInvalidArgument((*fusion)->Infer(Rows({kSouth, kSouth, kEast, kEast}), 2, two)));
}

}  // namespace
}  // namespace tributary::accelerator
