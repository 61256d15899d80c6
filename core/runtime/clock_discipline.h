// What the kernel knows of its wall clock: chrony, ntpd and ptp4l steer it and say how well.
#pragma once

#include <optional>

#include "core/runtime/metrics.h"

namespace tributary::runtime {

struct ClockDiscipline {
  bool synchronised = false;
  double estimated_error_s = 0;
};

// nullopt: the system does not tell this process.
std::optional<ClockDiscipline> ReadClockDiscipline();

// Read at each scrape; absent where the system does not tell.
void AddClockMetrics(Metrics& metrics);

}  // namespace tributary::runtime
