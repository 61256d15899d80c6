// What an aggregator that does not keep to the protocol can do to a command.
#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "cli/watch/node_pages.h"
#include "core/parameters/crc32c.h"
#include "core/runtime/clock.h"
#include "core/wire/federation_task.h"
#include "tests/support/own_folder.h"
#include "tributary/v1/fleet.grpc.pb.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNotUtf8 = "\xff";  // no text of a message may be this: it cannot be parsed

class LyingAggregatorTest : public ::testing::Test,
                            public v1::RunService::Service,
                            public v1::ModelService::Service,
                            public v1::FleetService::Service {
 protected:
  LyingAggregatorTest() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<v1::RunService::Service*>(this));
    builder.RegisterService(static_cast<v1::ModelService::Service*>(this));
    builder.RegisterService(static_cast<v1::FleetService::Service*>(this));
    server_ = builder.BuildAndStart();
    connection_.aggregator = "127.0.0.1:" + std::to_string(port);
    chunk_.mutable_model()->set_file_bytes(2'000);
  }
  ~LyingAggregatorTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status StartRun(grpc::ServerContext*, grpc::ServerReader<v1::StartRunRequest>* reader,
                        v1::StartRunResponse* response) override {
    v1::StartRunRequest request;
    while (reader->Read(&request)) continue;
    *response = started_;
    return grpc::Status::OK;
  }

  // Chunks that fit together, until the reader has enough of them.
  grpc::Status ReadModel(grpc::ServerContext*, const v1::ReadModelRequest*,
                         grpc::ServerWriter<v1::ReadModelResponse>* writer) override {
    for (; chunk_.offset() < sent_bytes_; chunk_.set_offset(chunk_.offset() + chunk_.bytes().size())) {
      chunk_.set_bytes(std::string(1'000, 'x'));
      chunk_.set_crc32c(parameters::Crc32c(chunk_.bytes()));
      if (!writer->Write(chunk_)) break;
      chunk_.clear_model();
      if (second_is_malformed_) chunk_.mutable_model()->set_run(kNotUtf8);
    }
    return grpc::Status::OK;
  }

  // One more node in each page, and always more to come.
  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*,
                         v1::ListNodesResponse* response) override {
    response->add_nodes()->set_name("node " + std::to_string(++pages_));
    response->set_more(true);
    clock_.Advance(std::chrono::nanoseconds(page_takes_).count());
    return grpc::Status::OK;
  }

  // What the command prints as its error; its exit status is exit_code_.
  std::string Fail(void (*add)(Commands&), const std::string& command) {
    CLI::App app;
    Commands program(app, exit_code_);
    add(program);
    ::testing::internal::CaptureStderr();
    app.parse(command + " --aggregator " + connection_.aggregator);
    return ::testing::internal::GetCapturedStderr();
  }
  std::string StartAndFail() {
    const std::string file = OwnFolder() + "run.toml";
    WriteOutput(file, "name = \"letters\"\nrounds = 1\nmin_nodes = 1\ndeadline_s = 60\n").IgnoreError();
    return Fail(AddRunStartCommand, "start " + file);
  }

  absl::Status FetchFault() { return ReadModelSource("run:letters", connection_).status(); }

  v1::StartRunResponse started_;
  v1::ReadModelResponse chunk_;
  std::size_t sent_bytes_ = 2'000;
  bool second_is_malformed_ = false;
  ConnectionArguments connection_;
  int pages_ = 0;
  std::chrono::seconds page_takes_{0};
  runtime::ManualClock clock_{1};
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

TEST_F(LyingAggregatorTest, EndsStatusWithDataLossIfItsPagesDoNotEnd) {
  EXPECT_THAT(Fail(AddStatusCommand, "status"),
              HasSubstr(connection_.aggregator + ": its list of nodes does not end: 64 of them so far"));
  EXPECT_EQ(exit_code_, 65);
  EXPECT_EQ(pages_, 64);
}

TEST_F(LyingAggregatorTest, HasAMinuteForItsPages) {
  page_takes_ = std::chrono::seconds(25);
  const auto nodes = AllNodes(connection_, "", clock_, nullptr);
  EXPECT_EQ(nodes.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(nodes.status().message()), HasSubstr("3 of them so far. Up to 64 pages in 60 s"));
  EXPECT_EQ(pages_, 3);
}

TEST_F(LyingAggregatorTest, SendsNoMoreOfAModelThanItDeclared) {
  EXPECT_EQ(FetchFault(), absl::OkStatus());
  chunk_.set_offset(0);
  chunk_.mutable_model()->set_file_bytes(2'500);
  sent_bytes_ = 1'000'000'000;
  const absl::Status fault = FetchFault();
  EXPECT_EQ(fault.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(fault.message()), HasSubstr(connection_.aggregator + ": a chunk of 1000 bytes"));
}

TEST_F(LyingAggregatorTest, DeclaresNoModelThatIsLargerThanAnyMayBe) {
  chunk_.mutable_model()->set_file_bytes(wire::kMaxModelBytes + 1);
  EXPECT_THAT(std::string(FetchFault().message()),
              HasSubstr(connection_.aggregator + ": a model of 1073741825 bytes"));
}

TEST_F(LyingAggregatorTest, CannotPassABrokenModelForAWholeOne) {
  chunk_.mutable_model()->set_file_bytes(3'000);
  EXPECT_THAT(std::string(FetchFault().message()), HasSubstr("ends after 2000 of 3000 bytes"));
  chunk_.set_offset(0);
  chunk_.mutable_model()->set_file_bytes(2'000);
  second_is_malformed_ = true;
  EXPECT_THAT(std::string(FetchFault().message()),
              HasSubstr(connection_.aggregator + ": the model ends after 1000 of 2000"));
  chunk_.set_offset(0);
  sent_bytes_ = 0;
  EXPECT_FALSE(FetchFault().ok()) << "nothing at all";
}

}  // namespace
}  // namespace tributary::cli
