// What an aggregator that does not keep to the protocol can do to a command.
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/failure.h"
#include "tests/support/own_folder.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNotUtf8 = "\xff";  // no text of a message may be this: it cannot be parsed

class LyingAggregatorTest : public ::testing::Test, public v1::RunService::Service {
 protected:
  LyingAggregatorTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    connection_.aggregator = "127.0.0.1:" + std::to_string(port);
  }
  ~LyingAggregatorTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status StartRun(grpc::ServerContext*, grpc::ServerReader<v1::StartRunRequest>* reader,
                        v1::StartRunResponse* response) override {
    v1::StartRunRequest request;
    while (reader->Read(&request)) continue;
    *response = started_;
    return grpc::Status::OK;
  }

  // What `tributary start FILE` prints as its error; its exit status is exit_code_.
  std::string StartAndFail() {
    const std::string file = OwnFolder() + "run.toml";
    WriteOutput(file, "name = \"letters\"\nrounds = 1\nmin_nodes = 1\ndeadline_s = 60\n").IgnoreError();
    CLI::App app;
    Commands program(app, exit_code_);
    AddRunStartCommand(program);
    ::testing::internal::CaptureStderr();
    app.parse("start " + file + " --aggregator " + connection_.aggregator);
    return ::testing::internal::GetCapturedStderr();
  }

  v1::StartRunResponse started_;
  ConnectionArguments connection_;
  int exit_code_ = -1;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(LyingAggregatorTest, EndsRunStartWithDataLossIfTheAnswerCannotBeRead) {
  started_.mutable_run()->set_name(kNotUtf8);
  EXPECT_THAT(StartAndFail(), HasSubstr(connection_.aggregator + ": the aggregator's answer cannot be read"));
  EXPECT_EQ(exit_code_, 65);
}

TEST_F(LyingAggregatorTest, EndsRunStartWithDataLossIfTheAnswerNamesNoRun) {
  EXPECT_THAT(StartAndFail(), HasSubstr(connection_.aggregator + ": the answer names no run"));
  EXPECT_EQ(exit_code_, 65);
}

}  // namespace
}  // namespace tributary::cli
