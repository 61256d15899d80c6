#include "core/certificates/issue_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/certificates/new_certificate.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::certificates {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class IssueRecordTest : public ::testing::Test {
 protected:
  IssueRecordTest() {
    std::filesystem::create_directory(folder_);
    EXPECT_TRUE(IssueRecord::Begin(folder_).ok());
  }
  ~IssueRecordTest() override { std::filesystem::remove_all(folder_); }

  config::Certificate Certificate(const std::string& name) const {
    return MakeCertificate({.name = name}, *authority_.key, 3'600, authority_).value();
  }
  IssueRecord Read() const { return IssueRecord::Read(folder_).value(); }

  const std::string folder_ = OwnFolder() + "issue_record";
  const std::string path_ = folder_ + "/issued.txt";
  const CertificateAndKey authority_ = MakeAuthority(86'400).value();
};

TEST_F(IssueRecordTest, TwoWritersLoseNoLineOfEachOther) {
  IssueRecord command = Read(), aggregator = Read();
  command.Add("hub", *Certificate("hub"));
  aggregator.Add("east", *Certificate("east"), {"3fa94c12", std::string(64, 'a')});
  ASSERT_TRUE(command.Write().ok());
  ASSERT_TRUE(aggregator.Write().ok());
  ASSERT_TRUE(aggregator.Write().ok()) << "nothing is written twice";
  const IssueRecord read = Read();
  ASSERT_THAT(read.lines(), SizeIs(2));
  EXPECT_EQ(read.lines()[0].name, "hub");
  EXPECT_EQ(read.lines()[0].joined.token, "");
  EXPECT_EQ(read.lines()[1].joined.token, "3fa94c12");
  EXPECT_EQ(read.lines()[1].joined.key_sha256, std::string(64, 'a'));
  EXPECT_THAT(read.SerialsOf("east"), SizeIs(1));
}

TEST_F(IssueRecordTest, ALineThatWasInterruptedIsLeftOutAndReplaced) {
  ASSERT_TRUE(runtime::WriteFileAtomically(path_, "AB north\nCD sou").ok());
  IssueRecord record = Read();
  EXPECT_THAT(record.lines(), SizeIs(1));
  EXPECT_THAT(record.TornLineWarning(), HasSubstr(path_ + ": the last line is torn"));
  record.Add("east", *Certificate("east"));
  ASSERT_TRUE(record.Write().ok());
  EXPECT_THAT(Read().lines(), SizeIs(2));
  EXPECT_EQ(Read().TornLineWarning(), "");
}

// Its names could be given again, and its certificates not be revoked.
TEST_F(IssueRecordTest, ALostRecordIsAFaultWithItsRemedyAndIsNotBegunAnew) {
  IssueRecord record = Read();
  record.Add("east", *Certificate("east"));
  std::filesystem::remove(path_);
  for (const absl::Status& status : {IssueRecord::Read(folder_).status(), record.Write()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_ + ": is missing"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("touch " + path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(IssueRecordTest, BeginningLeavesARecordAlone) {
  IssueRecord record = Read();
  record.Add("east", *Certificate("east"));
  ASSERT_TRUE(record.Write().ok());
  ASSERT_TRUE(IssueRecord::Begin(folder_).ok());
  EXPECT_THAT(Read().lines(), SizeIs(1));
}

TEST_F(IssueRecordTest, WhatCouldNotBeWrittenIsWrittenNextTime) {
  IssueRecord record = Read();
  record.Add("east", *Certificate("east"));
  std::filesystem::rename(path_, path_ + ".away");
  EXPECT_FALSE(record.Write().ok());
  std::filesystem::rename(path_ + ".away", path_);
  record.Add("west", *Certificate("west"));
  ASSERT_TRUE(record.Write().ok());
  EXPECT_THAT(Read().lines(), SizeIs(2));
}

TEST_F(IssueRecordTest, NamesTheLineAtFault) {
  for (const char* line : {"no serial", "AB", "AB ", "AB a b", "AB a x y", "AB a 12 34 5", " AB a"}) {
    const auto read = IssueRecord::Parse(std::string("AB good\n") + line + "\n");
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("line 2: expected"));
  }
}

}  // namespace
}  // namespace tributary::certificates
