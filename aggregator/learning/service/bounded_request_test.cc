// Messages that are small on the wire and large in memory.
#include "aggregator/learning/service/bounded_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::HasSubstr;
using testing::RoundsHost;

// Sixty messages with a million empty shares each took 1.2 GB.
class BoundedRequestTest : public ::testing::Test {
 protected:
  BoundedRequestTest() { host_.Start(); }
  v1::ShareKeysResponse Share(const v1::ShareKeysRequest& request) {
    grpc::ClientContext context;
    v1::ShareKeysResponse response;
    const grpc::Status status =
        v1::FederationService::NewStub(host_.channel())->ShareKeys(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_FALSE(response.accepted());
    return response;
  }
  std::uint64_t refused() { return host_.coordinator().counters().refused_steps; }

  RoundsHost host_;
};

TEST_F(BoundedRequestTest, ManyEmptySharesAreRefusedBeforeTheyAreParsed) {
  v1::ShareKeysRequest request;
  for (std::size_t i = 0; i <= kMaxStepFields; ++i) request.add_shares();
  EXPECT_THAT(Share(request).message(), HasSubstr("more than the 526 fields"));
  EXPECT_EQ(refused(), 1u);
}

TEST_F(BoundedRequestTest, ALargeMessageIsRefusedBeforeItIsParsed) {
  v1::ShareKeysRequest request;
  request.set_node(std::string(kMaxStepBytes + 1, 'n'));
  EXPECT_THAT(Share(request).message(), HasSubstr("at most 524288 are allowed"));
  EXPECT_EQ(refused(), 1u);
}

TEST_F(BoundedRequestTest, ADeclarationOfManyEmptyTextsIsRefusedBeforeItIsParsed) {
  v1::ParticipateRequest request;
  for (std::size_t i = 0; i <= kMaxStepFields; ++i) request.add_workloads();
  grpc::ClientContext context;
  v1::ParticipateResponse response;
  const auto stream = v1::FederationService::NewStub(host_.channel())->Participate(&context, request);
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("more than the 526 fields"));
  EXPECT_EQ(refused(), 1u);
}

TEST_F(BoundedRequestTest, AHeaderOfManyEmptyContributorsIsRefusedBeforeItIsParsed) {
  v1::SubmitUpdateRequest request;
  for (std::size_t i = 0; i <= kMaxHeaderFields; ++i) request.mutable_header()->add_contributors();
  grpc::ClientContext context;
  v1::SubmitUpdateResponse response;
  const auto stream = v1::FederationService::NewStub(host_.channel())->SubmitUpdate(&context, &response);
  EXPECT_TRUE(stream->Write(request));
  EXPECT_TRUE(stream->WritesDone());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(response.reason(), v1::SUBMIT_REFUSAL_MALFORMED);
  EXPECT_THAT(response.message(), HasSubstr("or than 65600 inside of field 1"));
}

TEST_F(BoundedRequestTest, ASmallMessageIsParsed) {
  v1::ShareKeysRequest request;
  request.set_run("nosuch");
  request.set_node("a");
  EXPECT_THAT(Share(request).message(), HasSubstr("there is no run \"nosuch\""));
}

TEST(ParseStepTest, RefusesWhatDoesNotParse) {
  const grpc::Slice rubbish(std::string(9, '\xff'));
  EXPECT_EQ(ParseStep<v1::ShareKeysRequest>(grpc::ByteBuffer(&rubbish, 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::learning
