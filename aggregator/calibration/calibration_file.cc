#include "aggregator/calibration/calibration_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "aggregator/calibration/calibration_text.h"
#include "core/runtime/elapsed.h"
#include "core/runtime/file.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::calibration {
namespace {

// A file of strangers may have a thousand faults, or one that quotes all of its text.
std::string BeginningOf(const absl::Status& status) {
  constexpr std::size_t kMostText = 300;
  const absl::string_view message = status.message();
  return runtime::Printable(std::string(message.substr(0, std::min(message.find('\n'), kMostText))));
}

// There, and no regular file, where a link leads.
bool IsNoFile(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
}

std::string AgeText(double seconds) {
  if (seconds < 0) return "of a time to come";
  constexpr double kDay = 86'400;
  return seconds < 2 * kDay ? fmt::format("as it was {:.0f} s ago", seconds)
                            : fmt::format("as it was {:.0f} days ago", seconds / kDay);
}

}  // namespace

CalibrationFile::CalibrationFile(std::string path, fusion::FusionEngine& engine)
    : path_(std::move(path)), engine_(engine) {}

void CalibrationFile::Restore(const runtime::Clock& clock) {
  struct stat about {};
  if (lstat(path_.c_str(), &about) != 0) return;
  if (IsNoFile(path_)) return LeaveAlone("is no regular file");
  const absl::StatusOr<std::string> text = runtime::ReadFile(path_, kMostBytes);
  if (absl::IsNotFound(text.status())) return;  // a link that leads nowhere
  if (!text.ok()) return LeaveAlone(BeginningOf(text.status()));
  if (text->empty()) return;
  if (!text->starts_with(kFirstWords)) return LeaveAlone("is no file of a calibration");
  there_ = true;
  if (engine_.calibration_mode() == fusion::CalibrationMode::kOff) return Remove();
  const absl::Status status = TryToRestore(*text, clock);
  if (status.ok()) return;
  if (std::rename(path_.c_str(), (path_ + ".refused").c_str()) != 0) return LeaveAlone(BeginningOf(status));
  ++refused_;
  there_ = false;
  runtime::LogWarning("{}: begins its calibration anew: {}; the file is {} now", engine_.config().name,
                      BeginningOf(status), runtime::Printable(path_ + ".refused"));
}

void CalibrationFile::LeaveAlone(std::string_view why) {
  ++refused_;
  left_alone_ = true;
  there_ = false;
  runtime::LogWarning("{}: {}: {}; it stays as it is, and the calibration is not kept for a restart",
                      engine_.config().name, runtime::Printable(path_), why);
}

absl::Status CalibrationFile::TryToRestore(const std::string& text, const runtime::Clock& clock) {
  ASSIGN_OR_RETURN(const fusion::CalibrationRecord record, DecodeCalibration(text, path_));
  RETURN_IF_ERROR(WithContext(path_, engine_.RestoreCalibration(record)));
  ++restored_;
  kept_unix_ns_ = record.looked_unix_ns;
  runtime::LogInfo("{}: continues the calibration of {} {}", engine_.config().name,
                   runtime::Counted(record.sources.size(), "source"),
                   AgeText(runtime::ElapsedSeconds(record.looked_unix_ns, clock.UnixNs())));
  return absl::OkStatus();
}

void CalibrationFile::Update() {
  if (left_alone_) return;
  if (IsNoFile(path_)) return LeaveAlone("is no regular file");
  const std::optional<fusion::CalibrationRecord> record = engine_.calibration();
  if (!record) return Remove();
  if (there_ && record->looked_unix_ns == kept_unix_ns_) return;
  const absl::Status status = runtime::WriteFileAtomically(path_, EncodeCalibration(*record));
  Say(status);
  if (!status.ok()) return;
  there_ = true;
  kept_unix_ns_ = record->looked_unix_ns;
}

void CalibrationFile::Remove() {
  if (!there_) return;
  there_ = unlink(path_.c_str()) != 0 && errno != ENOENT;
  if (there_) return Say(absl::ErrnoToStatus(errno, path_ + ": cannot remove"));
  runtime::LogInfo("{}: removed {}: its calibration is off or began anew", engine_.config().name,
                   runtime::Printable(path_));
}

void CalibrationFile::Say(const absl::Status& written) {
  ++(written.ok() ? written_ : failed_);
  const bool failing = !written.ok();
  if (std::exchange(failing_, failing) == failing) return;
  if (failing) {
    runtime::LogWarning("{}: cannot keep its calibration for a restart: {}", engine_.config().name,
                        BeginningOf(written));
  } else {
    runtime::LogInfo("{}: {} is written again", engine_.config().name, runtime::Printable(path_));
  }
}

void CalibrationFile::Collect(runtime::Reading& reading) const {
  const auto count = [&](const char* outcome, std::uint64_t number) {
    reading.Counter("tributary_calibration_files_total",
                    "Files of [site.calibration] state: restored or refused at the start, written, and not "
                    "written because of the disk.",
                    {{"site", engine_.config().name}, {"outcome", outcome}}, number);
  };
  count("restored", restored_);
  count("refused", refused_);
  count("written", written_);
  count("failed", failed_);
}

}  // namespace tributary::calibration
