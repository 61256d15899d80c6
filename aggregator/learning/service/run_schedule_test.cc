#include "aggregator/learning/service/run_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The schedule knows runs by their address only.
class RunScheduleTest : public ::testing::Test {
 protected:
  learning::Run& run(std::size_t i) { return *reinterpret_cast<learning::Run*>(&places_[i]); }

  std::array<std::max_align_t, 3> places_{};
  RunSchedule schedule_;
};

TEST_F(RunScheduleTest, GivesOnlyRunsThatWereTouchedOrAreDue) {
  schedule_.Touch(run(0));
  schedule_.Touch(run(0));
  schedule_.SetDue(run(1), 100);
  schedule_.SetDue(run(2), 200);
  EXPECT_EQ(schedule_.next_ns(), 0);
  EXPECT_THAT(schedule_.Take(99), ElementsAre(&run(0)));
  EXPECT_EQ(schedule_.next_ns(), 100);
  EXPECT_THAT(schedule_.Take(200), UnorderedElementsAre(&run(1), &run(2)));
  EXPECT_EQ(schedule_.next_ns(), RunSchedule::kNever);
  EXPECT_THAT(schedule_.Take(1'000), IsEmpty());
}

TEST_F(RunScheduleTest, ALaterTimeReplacesTheFormer) {
  schedule_.SetDue(run(0), 100);
  schedule_.SetDue(run(0), 300);
  EXPECT_THAT(schedule_.Take(299), IsEmpty());
  schedule_.SetDue(run(0), RunSchedule::kNever);
  EXPECT_EQ(schedule_.next_ns(), RunSchedule::kNever);
}

TEST_F(RunScheduleTest, ForgetsARunThatIsDeleted) {
  schedule_.Touch(run(0));
  schedule_.SetDue(run(0), 100);
  schedule_.Forget(run(0));
  EXPECT_THAT(schedule_.Take(100), IsEmpty());
}

}  // namespace
}  // namespace tributary::learning
