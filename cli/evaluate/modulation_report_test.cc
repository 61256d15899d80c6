#include "cli/evaluate/modulation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// BPSK is taken for QPSK in one of four cases at 18 dB, whatever decides.
ModulationEvaluation SmallEvaluation() {
  ModulationEvaluation evaluation;
  for (const char* name :
       {"one", "vote_of_10", "conflation_of_10", "receivers_2", "receivers_4", "receivers_8", "pool_8"}) {
    DecisionFigures decision{.name = name, .by_snr = {}};
    for (int i = 0; i < 4; ++i) decision.by_snr[kSnrs - 1].Add(i == 0 ? 7 : 0, 0);
    evaluation.push_back(decision);
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
  EXPECT_THAT(page, HasSubstr("Four receivers at -4 dB are right as often as one at 0 dB</td><td>yes</td>"));
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
