#include "core/runtime/clock_discipline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::runtime {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(ClockDisciplineTest, IsExportedWhereTheSystemTells) {
  const std::optional<ClockDiscipline> discipline = ReadClockDiscipline();
  if (!discipline) GTEST_SKIP() << "this system does not tell its clock's state";
  EXPECT_GE(discipline->estimated_error_s, 0.0);
  Metrics metrics;
  AddClockMetrics(metrics);
  EXPECT_THAT(metrics.Text(), AnyOf(HasSubstr("\ntributary_clock_synchronised 0\n"),
                                    HasSubstr("\ntributary_clock_synchronised 1\n")));
  EXPECT_THAT(metrics.Text(), HasSubstr("\ntributary_clock_estimated_error_seconds "));
}

}  // namespace
}  // namespace tributary::runtime
