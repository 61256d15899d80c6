// Any file of a calibration, with the checksum that it has and with one that fits: read or refused. What is
// read is written as a file that is read as the same. What a calibration takes of it leaves its corrections
// within their bounds.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "aggregator/calibration/calibration_text.h"

namespace tributary::calibration {
namespace {

using estimate::SourceCalibration;

void Require(bool holds) {
  if (!holds) std::abort();
}

void GoOn(const fusion::CalibrationRecord& record) {
  // Others are not in a configuration.
  const estimate::MountingPrior& prior = record.prior;
  if (!(prior.shift_m >= 1e-4 && prior.shift_m <= 100 && prior.turn_deg >= 0.01 && prior.turn_deg <= 45))
    return;
  std::vector<estimate::Vector<2>> places;
  for (const auto& source : record.learnt.sources) places.push_back(source.state.correction.place);
  SourceCalibration calibration(prior, places);
  if (!calibration.Restore(record.learnt).ok()) return;
  for (int second = 0; second < 2; ++second) {
    std::vector<SourceCalibration::Observation> tuples;
    for (std::size_t i = 0; i < calibration.size(); ++i) {
      const estimate::Gaussian<2> tuple{{1, static_cast<double>(i)}, estimate::Matrix<2>::Identity()};
      tuples.push_back({i, calibration.state(i).correction.Apply(tuple)});
    }
    calibration.Forget(0.9);
    calibration.Observe(tuples);
    calibration.Solve();
  }
  for (std::size_t i = 0; i < calibration.size(); ++i) {
    const estimate::Correction& correction = calibration.state(i).correction;
    Require(correction.scale >= SourceCalibration::kLeastScale &&
            correction.scale <= SourceCalibration::kMostScale);
    Require(correction.shift.cwiseAbs().maxCoeff() <= SourceCalibration::kMostDeviations * prior.shift_m);
    Require(std::isfinite(correction.turn));
  }
  Require(std::isfinite(calibration.CommonVariance()));
}

void Read(std::string_view text) {
  const auto record = DecodeCalibration(text, "lab.toml");
  if (!record.ok()) return;
  const std::string written = EncodeCalibration(*record);
  const auto again = DecodeCalibration(written, "lab.toml");
  Require(again.ok() && EncodeCalibration(*again) == written);
  GoOn(*record);
}

}  // namespace
}  // namespace tributary::calibration

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  tributary::calibration::Read(text);
  tributary::calibration::Read(tributary::calibration::WithChecksum(text));
  return 0;
}
