// Models that operators send: what of them is in memory before the run starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "aggregator/learning/service/model_budget.h"
#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::HasSubstr;
using testing::RoundsHost;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

TEST(ModelBudgetTest, GivesNoMoreThanThereIs) {
  ModelBudget budget(10);
  EXPECT_TRUE(budget.Take(4));
  EXPECT_TRUE(budget.Take(6));
  EXPECT_FALSE(budget.Take(1));
  EXPECT_EQ(budget.refused(), 1u);
  budget.GiveBack(6);
  EXPECT_FALSE(budget.Take(7));
  EXPECT_TRUE(budget.Take(6));
}

// A model of 128 MiB in chunks of one byte took 4 GiB.
TEST(SentModelTest, ManySmallChunksTakeNoMoreThanTheirBytes) {
  ModelBudget budget(3 * kMegabyte);
  {
    SentModel model(budget);
    for (std::size_t i = 0; i < kMegabyte; ++i) ASSERT_TRUE(model.Add("x"));
    for (std::size_t i = 0; i < kMegabyte; ++i) ASSERT_TRUE(model.Add(""));
    EXPECT_EQ(model.pieces(), 1u);
    EXPECT_TRUE(model.Add(std::string(kMegabyte, 'y')));
    EXPECT_EQ(model.pieces(), 2u);
    EXPECT_FALSE(model.Add(std::string(kMegabyte + 1, 'z')));
    EXPECT_EQ(model.Join(), std::string(kMegabyte, 'x') + std::string(kMegabyte, 'y'));
    EXPECT_FALSE(budget.Take(kMegabyte + 1)) << "until the run has started";
  }
  EXPECT_TRUE(budget.Take(3 * kMegabyte));
}

// Six halves of large models took 624 MB.
class SentModelsTest : public ::testing::Test {
 protected:
  struct HalfSent {
    std::unique_ptr<v1::RunService::Stub> stub;
    grpc::ClientContext context;
    v1::StartRunResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::StartRunRequest>> writer;
  };

  SentModelsTest() {
    host_.options().max_model_bytes = 4 * kMegabyte;
    host_.Start();
  }
  std::unique_ptr<HalfSent> SendHalf(std::size_t megabytes) const {
    auto half = std::make_unique<HalfSent>();
    half->stub = v1::RunService::NewStub(host_.channel());
    half->writer = half->stub->StartRun(&half->context, &half->response);
    v1::StartRunRequest request;
    request.set_config("name = \"half\"\n");
    half->writer->Write(request);
    request.clear_config();
    request.set_chunk(std::string(kMegabyte, 'x'));
    for (std::size_t i = 0; i < megabytes; ++i) half->writer->Write(request);
    return half;
  }
  grpc::Status Start(std::size_t elements) const {
    return host_.StartRun("name = \"r\"\nmin_nodes = 1\nquorum = 1\n", RoundsHost::ModelFile(elements));
  }
  std::uint64_t refused() { return host_.coordinator().model_budget().refused(); }

  RoundsHost host_;
};

TEST_F(SentModelsTest, AModelLargerThanTheBudgetIsRefused) {
  const grpc::Status status = Start(2 * kMegabyte);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("the model has more than the 4194304 bytes of"));
  EXPECT_EQ(refused(), 1u);
}

TEST_F(SentModelsTest, HalfSentModelsShareTheBudgetUntilTheyEnd) {
  const auto first = SendHalf(3);
  const auto second = SendHalf(3);
  // Whichever comes second is refused; its call ends, the other one waits for more.
  while (refused() == 0) std::this_thread::yield();
  first->context.TryCancel();
  second->context.TryCancel();
  first->writer->Finish();
  second->writer->Finish();
  grpc::Status status;
  do {
    status = Start(kMegabyte / 2);
  } while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace tributary::learning
