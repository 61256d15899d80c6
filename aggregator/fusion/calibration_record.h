// What a site's calibration has learnt, and of what: to keep it over a restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/estimate/source_calibration.h"

namespace tributary::fusion {

struct CalibrationRecord {
  std::string site = {};
  std::vector<std::string> sources = {};  // the leaves that are calibrated, in the order of `learnt`
  estimate::MountingPrior prior = {};
  std::int64_t looked_unix_ns = 0;  // where the slot begins that was looked at last
  int looks = 0;                    // since the last solution
  std::size_t next_row = 0;         // where the next look at a long slot begins
  estimate::LearntCalibration learnt = {};
};

}  // namespace tributary::fusion
