// Logging for the daemons: lines on standard error, with journald's level prefixes where systemd reads it.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/runtime/log.h"
#include "core/runtime/mutex.h"

namespace tributary::runtime {

// Sets up the default logger. `level`: debug, info, warn, error. Call it again (SIGHUP) to change the level.
// Errors: InvalidArgument for another level.
absl::Status SetUpLog(std::string_view level);

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Writes a line, where the logger's level admits it. Thread-safe.
void LogLine(LogLevel level, fmt::string_view format, fmt::format_args arguments);

template <typename... T>
void Log(LogLevel level, fmt::format_string<T...> format, T&&... arguments) {
  LogLine(level, format, fmt::make_format_args(arguments...));
}
template <typename... T>
void LogDebug(fmt::format_string<T...> format, T&&... arguments) {
  LogLine(LogLevel::kDebug, format, fmt::make_format_args(arguments...));
}
template <typename... T>
void LogInfo(fmt::format_string<T...> format, T&&... arguments) {
  LogLine(LogLevel::kInfo, format, fmt::make_format_args(arguments...));
}
template <typename... T>
void LogWarning(fmt::format_string<T...> format, T&&... arguments) {
  LogLine(LogLevel::kWarning, format, fmt::make_format_args(arguments...));
}
template <typename... T>
void LogError(fmt::format_string<T...> format, T&&... arguments) {
  LogLine(LogLevel::kError, format, fmt::make_format_args(arguments...));
}

// The latest line of the level error since the logger was set up; nothing if there is none. Thread-safe.
struct LoggedError {
  std::string text;
  std::int64_t unix_ns = 0;
};
std::optional<LoggedError> LatestError();

// A rate limit, so that one cause does not fill the log. Allows `burst` lines at once, then one per
// `interval_ns`. Counts the lines that it suppresses. Thread-safe.
class LogLimit {
 public:
  LogLimit(int burst, std::int64_t interval_ns) : burst_(burst), interval_ns_(interval_ns) {}

  // Whether a line may be written at this steady time. If so: what to append to it, empty unless earlier
  // lines were suppressed ("; 14 lines like this one were left out").
  std::optional<std::string> Admit(std::int64_t now_ns);

  // How many lines were suppressed, once the first of them is older than the interval; they count as told.
  // For who wants to tell of them without another line.
  std::uint64_t TakeLeftOut(std::int64_t now_ns);

 private:
  const int burst_;
  const std::int64_t interval_ns_;
  Mutex mutex_;
  int written_ GUARDED_BY(mutex_) = 0;  // of the burst
  std::int64_t since_ns_ GUARDED_BY(mutex_) = 0;
  std::uint64_t held_back_ GUARDED_BY(mutex_) = 0;
  std::int64_t held_back_since_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tributary::runtime
