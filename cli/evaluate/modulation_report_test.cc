#include "cli/evaluate/modulation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Ten ways to decide; BPSK is taken for QPSK in one of four cases at 18 dB.
ModulationEvaluation SmallEvaluation() {
  ModulationEvaluation evaluation(10);
  for (DecisionFigures& decision : evaluation) {
    decision.name = "decision";
    for (int i = 0; i < 4; ++i) decision.by_snr[kSnrs - 1].Add(i == 0 ? 7 : 0, 0);
  }
  return evaluation;
}

TEST(ModulationReportTest, ShowsCurvesAndMatrices) {
  const std::string page = ModulationReport({{"model", "a.safetensors"}}, {{"true", SmallEvaluation()}});
  EXPECT_THAT(page, HasSubstr("a.safetensors"));
  EXPECT_THAT(page, HasSubstr("SNR definition: true"));
  EXPECT_THAT(page,
              HasSubstr("<th>BPSK</th><td style=\"background:rgba(0,114,178,0.75);color:#fff\">75</td>"));
  EXPECT_THAT(page, HasSubstr("one burst: 75.0 %"));
  // The last point of a curve: 18 dB at the right edge, 75 % of the height.
  EXPECT_THAT(page, HasSubstr("690.0,90.0 "));
}

TEST(ModulationReportTest, EscapesText) {
  const std::string page = ModulationReport({{"model", "<script>\"&"}}, {});
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;&quot;&amp;"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
}

}  // namespace
}  // namespace tributary::cli
