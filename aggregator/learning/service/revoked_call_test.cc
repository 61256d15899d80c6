// Calls that lost their right while their request came.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "aggregator/access/call_context.h"
#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using testing::RoundsHost;

class RevokingContexts final : public grpc::ContextAllocator {
 public:
  explicit RevokingContexts(const std::atomic<bool>& revoked) : revoked_(revoked) {}

  grpc::CallbackServerContext* NewCallbackServerContext() override {
    auto* context = new access::CallContext;
    context->revoked = revoked_.load();
    return context;
  }
  void Release(grpc::CallbackServerContext* context) override { delete context; }

 private:
  const std::atomic<bool>& revoked_;
};

class RevokedCallTest : public ::testing::Test {
 protected:
  RevokedCallTest() {
    host_.MakeContextsWith(std::make_unique<RevokingContexts>(revoked_));
    host_.Start();
    EXPECT_TRUE(host_.StartRun("name = \"r\"\nrounds = 1\nmin_nodes = 1\n", RoundsHost::ModelFile(3)).ok());
  }
  template <class Request, class Response>
  grpc::Status Call(grpc::Status (v1::RunService::StubInterface::*call)(grpc::ClientContext*, const Request&,
                                                                        Response*)) {
    grpc::ClientContext context;
    Request request;
    if constexpr (requires { request.set_run("r"); }) request.set_run("r");
    Response response;
    const std::unique_ptr<v1::RunService::StubInterface> stub = v1::RunService::NewStub(host_.channel());
    return ((*stub).*call)(&context, request, &response);
  }

  std::atomic<bool> revoked_ = false;
  RoundsHost host_;
};

// A request whose last byte came 20 s after its sender's name was refused stopped the run.
TEST_F(RevokedCallTest, ChangesNothingAndTellsNothing) {
  using Stub = v1::RunService::StubInterface;
  revoked_ = true;
  for (const grpc::Status& status : {Call(&Stub::PauseRun), Call(&Stub::StopRun), Call(&Stub::DeleteRun),
                                     Call(&Stub::ListRuns), Call(&Stub::GetRun)}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
  }
  revoked_ = false;
  EXPECT_TRUE(Call(&Stub::PauseRun).ok());
  EXPECT_TRUE(Call(&Stub::StopRun).ok());
}

}  // namespace
}  // namespace tributary::learning
