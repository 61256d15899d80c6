#include "cli/failure.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "cli/connection.h"
#include "cli/model/model_source.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

// The table of docs/running.md.
TEST(FailureTest, EndsWith66WhereAFileCannotBeRead) {
  EXPECT_EQ(ExitCode(runtime::ReadFile(OwnFolder() + "none").status()), 66);
  EXPECT_EQ(ExitCode(runtime::ReadFile(OwnFolder()).status()), 66) << "a folder";
  EXPECT_EQ(ExitCode(ReadModelSource(OwnFolder() + "none", {}).status()), 66);
  EXPECT_EQ(ExitCode(Connect({.tls = {"none", "none", "none"}}).status()), 66);
}

TEST(FailureTest, EndsWith73WhereAFileCannotBeWritten) {
  EXPECT_EQ(ExitCode(WriteOutput(OwnFolder() + "none/out", "")), 73);
  const std::string path = OwnFolder() + "failure_test.out";
  EXPECT_EQ(ExitCode(WriteOutput(path, "x")), 0);
  EXPECT_EQ(*runtime::ReadFile(path), "x");
  std::filesystem::remove(path);
}

TEST(FailureTest, FindsAnOutputThatCannotBeWrittenBeforeTheWork) {
  EXPECT_EQ(ExitCode(CheckOutput(OwnFolder() + "none/out")), 73);
  EXPECT_EQ(ExitCode(CheckOutput(OwnFolder())), 73) << "a folder";
  EXPECT_TRUE(CheckOutput(OwnFolder() + "out").ok());
  EXPECT_FALSE(std::filesystem::exists(OwnFolder() + "out")) << "and makes nothing";
  EXPECT_TRUE(CheckOutput("").ok()) << "nothing is asked for";
}

TEST(FailureTest, EndsWith64WhereAnOutputWouldReplaceAnInput) {
  const std::string input = OwnFolder() + "input";
  ASSERT_TRUE(WriteOutput(input, "x").ok());
  std::filesystem::create_symlink(input, OwnFolder() + "link");
  for (const std::string& output : {input, OwnFolder() + "./input", OwnFolder() + "link"}) {
    EXPECT_EQ(ExitCode(CheckOutput(output, {"", input})), 64) << output;
  }
  EXPECT_TRUE(CheckOutput(OwnFolder() + "other", {input}).ok());
  EXPECT_TRUE(CheckOutput("/dev/null", {"/dev/null"}).ok());
}

TEST(FailureTest, FindsAFolderThatCannotBeMadeBeforeTheWork) {
  const std::string read = OwnFolder() + "store";
  std::filesystem::create_directories(read + "/models");
  std::filesystem::create_directory(OwnFolder() + "empty");
  std::filesystem::create_symlink(read, OwnFolder() + "link-to-store");
  for (const char* inside :
       {"store", "store/copy", "store/models/copy", "./link-to-store/copy", "none/../store/copy"}) {
    EXPECT_EQ(ExitCode(CheckOutputFolder(OwnFolder() + inside, read)), 64) << inside;
  }
  EXPECT_EQ(ExitCode(CheckOutputFolder(OwnFolder(), read)), 73) << "not empty";
  EXPECT_EQ(ExitCode(CheckOutputFolder(OwnFolder() + "none/copy", read)), 73);
  for (const char* place : {"store-monday", "copy", "empty"}) {
    EXPECT_TRUE(CheckOutputFolder(OwnFolder() + place, read).ok()) << place;
    EXPECT_TRUE(CheckOutputFolder(OwnFolder() + place, "").ok()) << place;
  }
}

TEST(FailureTest, EndsWith64ForTheCommandLineAnd65ForContent) {
  EXPECT_EQ(ExitCode(UsageError("--rate")), 64);
  EXPECT_EQ(ExitCode(ReadModelSource("run:letters@last", {}).status()), 64);
  EXPECT_EQ(ExitCode(Connect({.tls = {"only this", "", ""}}).status()), 64);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("not an idx file")), 65);
  EXPECT_EQ(ExitCode(absl::DataLossError("cut off")), 65);
}

// A run that does not exist is no missing file.
TEST(FailureTest, EndsWith1WhereTheAggregatorRefusesAnd69WhereItIsAway) {
  for (const auto code : {grpc::StatusCode::NOT_FOUND, grpc::StatusCode::FAILED_PRECONDITION,
                          grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::PERMISSION_DENIED,
                          grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::UNIMPLEMENTED}) {
    EXPECT_EQ(ExitCode(FromPeer(grpc::Status(code, "no"), {})), 1) << code;
  }
  EXPECT_EQ(ExitCode(FromPeer(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""), {})), 1);
  EXPECT_EQ(ExitCode(FromPeer(grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"), {})), 69);
  EXPECT_EQ(ExitCode(FromPeer(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "slow"), {})), 69);
  EXPECT_EQ(ExitCode(FromPeer(grpc::Status(grpc::StatusCode::DATA_LOSS, "damaged"), {})), 65);
}

TEST(FailureTest, PrintsNoTerminalCodeOfWhatItNames) {
  ::testing::internal::CaptureStderr();
  ReportFailure("tributary", absl::InvalidArgumentError("tensor \x1b[31m"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "tributary: tensor \\x1b[31m\n");
}

}  // namespace
}  // namespace tributary::cli
