#include "core/runtime/clock_discipline.h"

#include <sys/timex.h>

namespace tributary::runtime {

std::optional<ClockDiscipline> ReadClockDiscipline() {
  timex state{};  // modes = 0: only reads
  const int answer = ::adjtimex(&state);
  if (answer < 0) return std::nullopt;
  return ClockDiscipline{.synchronised = answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0,
                         .estimated_error_s = 1e-6 * static_cast<double>(state.esterror)};
}

void AddClockMetrics(Metrics& metrics) {
  metrics.AddCollector([](Reading& reading) {
    const std::optional<ClockDiscipline> discipline = ReadClockDiscipline();
    if (!discipline) return;
    reading.Gauge("tributary_clock_synchronised", "1 while the kernel's wall clock is synchronised.", {},
                  discipline->synchronised ? 1 : 0);
    reading.Gauge("tributary_clock_estimated_error_seconds", "The kernel's estimate of its clock's error.",
                  {}, discipline->estimated_error_s);
  });
}

}  // namespace tributary::runtime
