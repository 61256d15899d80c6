#include "aggregator/publish/calibration_finding.h"

#include <gtest/gtest.h>

namespace tributary::publish {
namespace {

fusion::LeafCalibration Known() {
  return {.shift_deviation_m = {0.003, 0.004}, .turn_deviation_deg = 0.1, .observations = 4000};
}

TEST(CalibrationFindingTest, SaysTheErrorAndNotItsCorrection) {
  fusion::LeafCalibration north = Known();
  north.turn_deg = -2;
  EXPECT_EQ(CalibrationFinding(north), "turned by 2.0° ± 0.1°; not corrected");
  north.corrected = true;
  north.scale = 1.8;
  EXPECT_EQ(CalibrationFinding(north),
            "turned by 2.0° ± 0.1°, its errors are 1.8 times as large as it claims; corrected");
}

TEST(CalibrationFindingTest, SaysHowFarASourceHasMoved) {
  fusion::LeafCalibration north = Known();
  north.shift_m = {0.03, 0.04};
  EXPECT_EQ(CalibrationFinding(north), "moved by 5.0 cm ± 0.5 cm; not corrected");
}

TEST(CalibrationFindingTest, IsSilentWhereNothingStandsOut) {
  fusion::LeafCalibration north = Known();
  north.turn_deg = 0.25;  // within three standard deviations
  north.shift_m = {0.005, 0};
  north.scale = 0.9;
  EXPECT_EQ(CalibrationFinding(north), "");
  north.turn_deg = 20;
  north.observations = 50;
  EXPECT_EQ(CalibrationFinding(north), "");
}

}  // namespace
}  // namespace tributary::publish
