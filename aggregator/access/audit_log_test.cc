#include "aggregator/access/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/own_folder.h"

namespace tributary::access {
namespace {

namespace fs = std::filesystem;

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() { fs::create_directory(folder_); }
  ~AuditLogTest() override { fs::remove_all(folder_); }

  static AuditEvent Event(const std::string& subject = "letters") {
    return {{"anna", "token", "192.0.2.7:5000", "3fa94c12"},
            "StopRun",
            subject,
            absl::NotFoundError("no such run")};
  }
  std::string Read(const std::string& suffix = "") const {
    std::ifstream file(path_ + suffix);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  runtime::ManualClock clock_{1'700'000'000'123'000'000};
  const std::string folder_ = OwnFolder() + "audit";
  const std::string path_ = folder_ + "/audit.jsonl";
};

TEST_F(AuditLogTest, HasOneLineOfJsonForEachEventAndIsItsOwnersOnly) {
  {
    const auto log = AuditLog::Open(path_, clock_).value();
    log->Add(Event());
    log->Add(Event("\"quoted\"\nand more"));
  }
  { AuditLog::Open(path_, clock_).value()->Add(Event("after a restart")); }
  std::istringstream lines(Read());
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line), (nlohmann::json{{"time", "2023-11-14T22:13:20.123Z"},
                                                         {"name", "anna"},
                                                         {"way", "token"},
                                                         {"credential", "3fa94c12"},
                                                         {"from", "192.0.2.7:5000"},
                                                         {"action", "StopRun"},
                                                         {"subject", "letters"},
                                                         {"outcome", "NOT_FOUND"},
                                                         {"message", "no such run"}}));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line)["subject"], "\"quoted\"\nand more");
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line)["subject"], "after a restart");
  struct stat facts {};
  stat(path_.c_str(), &facts);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, KeepsTwoFilesOfTheirMostBytes) {
  constexpr std::uint64_t kMost = 2'000;
  {
    const auto log = AuditLog::Open(path_, clock_, kMost).value();
    for (int i = 0; i < 100; ++i) log->Add(Event(std::to_string(i)));
  }
  EXPECT_LE(Read().size(), kMost);
  EXPECT_LE(Read(".1").size(), kMost);
  EXPECT_THAT(Read(), ::testing::HasSubstr("\"99\""));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(AuditLogTest, CutsWhatACallerMakesLong) {
  { AuditLog::Open(path_, clock_).value()->Add(Event(std::string(1 << 20, 'x'))); }
  EXPECT_LT(Read().size(), 1'000u);
}

TEST_F(AuditLogTest, GoesOnInANewFileAfterSomebodyHasMovedItAway) {
  const auto log = AuditLog::Open(path_, clock_).value();
  log->Add(Event());
  while (log->written() < 1) std::this_thread::yield();
  fs::rename(path_, path_ + ".kept");
  log->Add(Event("next"));
  while (log->written() < 2) std::this_thread::yield();
  EXPECT_THAT(Read(), ::testing::HasSubstr("next"));
}

TEST_F(AuditLogTest, CountsWhatTheDiskDoesNotTake) {
  const auto full = AuditLog::Open("/dev/full", clock_);
  if (!full.ok()) GTEST_SKIP() << full.status();
  (*full)->Add(Event());
  while ((*full)->lost() < 1) std::this_thread::yield();
  EXPECT_EQ((*full)->written(), 0u);
}

TEST_F(AuditLogTest, SaysWhichFileCannotBeOpened) {
  const auto log = AuditLog::Open(folder_ + "/none/audit.jsonl", clock_);
  EXPECT_TRUE(absl::IsNotFound(log.status()));
  EXPECT_THAT(std::string(log.status().message()), ::testing::HasSubstr("none/audit.jsonl"));
}

}  // namespace
}  // namespace tributary::access
