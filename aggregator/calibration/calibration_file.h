// The file that keeps one site's calibration over a restart.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "aggregator/fusion/engine.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace tributary::calibration {

// Restore and Update: one thread at a time, which may wait for the disk. Holds the engine's mutex for the
// microseconds of a copy only. Collect: any thread.
class CalibrationFile {
 public:
  // The engine outlives this.
  CalibrationFile(std::string path, fusion::FusionEngine& engine);

  // Gives the engine what the file has. Without use for the file, it says why in the log: a site that is off
  // has its file removed; a file that is damaged or of another site, other sources, places or priors becomes
  // FILE.refused. What was never a calibration's stays as it is, and nothing is kept in its place.
  void Restore(const runtime::Clock& clock);

  // Makes the file what the engine has learnt; without anything learnt there is no file. Writes only what has
  // changed. The log says when the disk stops taking it, and when it does again.
  void Update();

  void Collect(runtime::Reading& reading) const;

 private:
  absl::Status TryToRestore(const std::string& text, const runtime::Clock& clock);
  // Does not touch the path any more.
  void LeaveAlone(std::string_view why);
  void Remove();
  void Say(const absl::Status& written);

  const std::string path_;
  fusion::FusionEngine& engine_;
  bool left_alone_ = false;        // what is there is no file of a calibration
  bool there_ = false;             // a file of this site
  std::int64_t kept_unix_ns_ = 0;  // CalibrationRecord::looked_unix_ns of the file
  bool failing_ = false;
  std::atomic<std::uint64_t> restored_ = 0, refused_ = 0, written_ = 0, failed_ = 0;
};

}  // namespace tributary::calibration
