// What is in the store after a full disk, or after its process ended at any step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/store_fixture.h"

namespace tributary::store {
namespace {

using ::testing::HasSubstr;

class StoreCrashTest : public StoreFixture {};

TEST_F(StoreCrashTest, ChangesNothingWhenTheDiskIsFullAtAnyStep) {
  Open();
  ASSERT_TRUE(AddRun().ok());
  ASSERT_TRUE(Submit("a").ok());
  const std::string before = State();
  int failures = 0;
  for (int fail_at = 0;; ++fail_at) {
    int step = 0;
    Open([&](StoreStep) {
      return step++ == fail_at ? absl::ResourceExhaustedError("no space left") : absl::OkStatus();
    });
    const absl::Status status = CommitRound(1);
    if (status.ok()) break;
    ++failures;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(State(), before) << "at step " << fail_at;
  }
  // Two files of four steps and a write each, and the transaction.
  EXPECT_GE(failures, 12);
  EXPECT_THAT(State(), HasSubstr("committed 1"));
}

// Ends the process at every step of a whole round in turn. Afterwards the store has one of the states in
// between, never less than what was acknowledged.
TEST_F(StoreCrashTest, IsWholeAfterAProcessThatEndedAtAnyStep) {
  const std::vector<std::string> states = {
      "no run",
      "begun; model: initial",
      "begun; a: update of a; model: initial",
      "begun; a: update of a; b: update of b; model: initial",
      "committed 1; model: initial; model: model 1 and momentum; round 1 line",
      "replaced; model: model 2; round 1 line",
  };
  bool completed = false;
  int ends = 0;
  for (int end_at = 0; !completed; ++end_at) {
    std::filesystem::remove_all(folder_);
    int acknowledged[2];
    ASSERT_EQ(pipe(acknowledged), 0);
    const pid_t child = fork();
    if (child == 0) {
      int step = 0;
      auto store = Store::Open(folder_, [&](StoreStep) {
        if (step++ == end_at) _exit(1);
        return absl::OkStatus();
      });
      store_ = *std::move(store);
      const auto done = [&](const absl::Status& status) {
        if (!status.ok() || write(acknowledged[1], "x", 1) != 1) _exit(2);
      };
      done(AddRun());
      done(Submit("a"));
      done(Submit("b"));
      done(CommitRound(1));
      done(ReplaceModels(2));
      _exit(0);
    }
    close(acknowledged[1]);
    int result = 0;
    ASSERT_EQ(waitpid(child, &result, 0), child);
    ASSERT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) < 2) << result;
    completed = WEXITSTATUS(result) == 0;
    char marks[8];
    const auto count =
        static_cast<std::size_t>(std::max<ssize_t>(0, read(acknowledged[0], marks, sizeof marks)));
    close(acknowledged[0]);
    ASSERT_NO_FATAL_FAILURE(Open());
    const std::string state = State();
    EXPECT_TRUE(state == states[count] || (count + 1 < states.size() && state == states[count + 1]))
        << "step " << end_at << ", " << count << " acknowledged: " << state;
    // Nothing is left over.
    EXPECT_EQ(Files("submissions").size(), state == states[2] || state == states[3] ? 1u : 0u);
    store_.reset();
    ++ends;
  }
  EXPECT_GE(ends, 30);
}

}  // namespace
}  // namespace tributary::store
