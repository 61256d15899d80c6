#include "aggregator/calibration/calibration_keeper.h"

#include <chrono>
#include <utility>

#include "core/runtime/thread_rank.h"

namespace tributary::calibration {

void CalibrationKeeper::Add(fusion::FusionEngine& engine, std::string path, const runtime::Clock& clock) {
  files_.emplace_back(std::move(path), engine).Restore(clock);
}

void CalibrationKeeper::Start() {
  if (files_.empty()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void CalibrationKeeper::Stop() {
  if (!thread_.joinable()) return;
  {
    const runtime::MutexLock lock(mutex_);
    thread_.request_stop();
  }
  news_.notify_all();
  thread_.join();
}

void CalibrationKeeper::UpdateSoon() {
  const runtime::MutexLock lock(mutex_);
  soon_ = true;
  news_.notify_all();
}

void CalibrationKeeper::Run(const std::stop_token& stop) {
  runtime::EnterThread("calibrations", runtime::ThreadRank::kBackground);
  for (bool last = false; !last;) {
    const auto next = std::chrono::steady_clock::now() + std::chrono::seconds(kEverySeconds);
    {
      runtime::MutexLock lock(mutex_);
      while (!soon_ && !stop.stop_requested()) {
        if (news_.wait_until(lock, next) == std::cv_status::timeout) break;
      }
      soon_ = false;
    }
    last = stop.stop_requested();
    for (CalibrationFile& file : files_) file.Update();
  }
}

void CalibrationKeeper::Collect(runtime::Reading& reading) const {
  for (const CalibrationFile& file : files_) file.Collect(reading);
}

}  // namespace tributary::calibration
