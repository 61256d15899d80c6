#include "aggregator/access/refused_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::access {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecondOfNs = 1'000'000'000;

class RefusedCallsTest : public ::testing::Test {
 protected:
  ~RefusedCallsTest() override { std::filesystem::remove(path_); }

  std::vector<json> Written() {
    log_.reset();  // writes what waits
    std::vector<json> events;
    std::istringstream lines(runtime::ReadFile(path_).value());
    for (std::string line; std::getline(lines, line);) events.push_back(json::parse(line));
    return events;
  }

  const std::string path_ = OwnFolder() + "refused_calls.jsonl";
  runtime::ManualClock clock_{1'700'000'000 * kSecondOfNs};
  std::unique_ptr<AuditLog> log_ = AuditLog::Open(path_, clock_).value();
  RefusedCalls calls_;
};

TEST_F(RefusedCallsTest, OneLineForEachNameCallAndMinuteWithItsCount) {
  for (int i = 0; i < 5'000; ++i) calls_.Count("wall", "StartRun", absl::PermissionDeniedError("no role"), 0);
  calls_.Count("wall", "Report", absl::PermissionDeniedError("no role"), 0);
  calls_.Tell(log_.get(), 59 * kSecondOfNs);
  calls_.Tell(log_.get(), 60 * kSecondOfNs);
  calls_.Count("wall", "StartRun", absl::PermissionDeniedError("no role"), 61 * kSecondOfNs);
  calls_.Tell(log_.get(), 62 * kSecondOfNs, true);
  const std::vector<json> events = Written();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["action"], "Report");
  EXPECT_EQ(events[1]["action"], "StartRun");
  EXPECT_EQ(events[1]["name"], "wall");
  EXPECT_EQ(events[1]["outcome"], "PERMISSION_DENIED");
  EXPECT_EQ(events[1]["message"], "5000 calls refused within a minute; the first: no role");
  EXPECT_EQ(events[2]["message"], "1 call refused within a minute; the first: no role");
}

TEST_F(RefusedCallsTest, IsBoundedWhateverNamesAsk) {
  for (int i = 0; i < 10'000; ++i) {
    calls_.Count("name-" + std::to_string(i), "Watch", absl::PermissionDeniedError("no role"), 0);
  }
  calls_.Tell(log_.get(), 0, true);
  const std::vector<json> events = Written();
  EXPECT_EQ(events.size(), RefusedCalls::kMostKinds + 1);
  EXPECT_EQ(events.front()["action"], "other calls");
}

TEST_F(RefusedCallsTest, WithoutALogNothingIsKept) {
  calls_.Count("wall", "Watch", absl::PermissionDeniedError("no role"), 0);
  calls_.Tell(nullptr, 60 * kSecondOfNs);
  calls_.Tell(log_.get(), 120 * kSecondOfNs, true);
  EXPECT_TRUE(Written().empty());
}

}  // namespace
}  // namespace tributary::access
