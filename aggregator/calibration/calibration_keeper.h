// The thread that keeps calibrations on the disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <stop_token>
#include <string>
#include <thread>

#include "aggregator/calibration/calibration_file.h"
#include "aggregator/fusion/engine.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::calibration {

// Fusion never waits for the disk: this thread does. It writes what has changed each kEverySeconds, when it
// is told to, and at the end. A killed process loses what it learnt since, and none of its corrections.
//
// Call Add, Start and Stop from one thread; UpdateSoon and Collect from any.
class CalibrationKeeper {
 public:
  // A file of four sources has 4 kB: 35 MB a day.
  static constexpr int kEverySeconds = 10;

  CalibrationKeeper() = default;
  ~CalibrationKeeper() { Stop(); }
  CalibrationKeeper(const CalibrationKeeper&) = delete;
  CalibrationKeeper& operator=(const CalibrationKeeper&) = delete;

  // Restores the site's calibration from the file. Before Start; the engine outlives this.
  void Add(fusion::FusionEngine& engine, std::string path, const runtime::Clock& clock);
  void Start();
  // After it returns, the files have what the engines had learnt when it was called.
  void Stop();

  void UpdateSoon();
  void Collect(runtime::Reading& reading) const;

 private:
  void Run(const std::stop_token& stop);

  std::deque<CalibrationFile> files_;  // changed before Start only
  runtime::Mutex mutex_;
  bool soon_ GUARDED_BY(mutex_) = false;
  std::condition_variable_any news_;
  std::jthread thread_;
};

}  // namespace tributary::calibration
