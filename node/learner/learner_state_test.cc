#include "node/learner/learner_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::learner {
namespace {

TEST(LearnerStateTest, IsReadAsItWasWrittenOrNotAtAll) {
  const std::uint64_t three[] = {3};
  const float values[] = {3, 4, 5};
  const LearnerState state{"run", {1, -2}, {{{"local", parameters::FloatTensor(three, values)}}, {}}};
  const std::string file = EncodeLearnerState(state);
  auto read = DecodeLearnerState(file);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->run, "run");
  EXPECT_EQ(read->residual, state.residual);
  ASSERT_EQ(read->trainer.tensors.size(), 1u);
  EXPECT_EQ(*parameters::FloatValues("local", read->trainer.tensors["local"], three),
            std::vector<float>({3, 4, 5}));
  // Every byte of the tensors is covered.
  constexpr std::size_t kTensorBytes = 5 * sizeof(float);
  for (std::size_t i = file.size() - kTensorBytes; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(DecodeLearnerState(damaged).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

}  // namespace
}  // namespace tributary::learner
