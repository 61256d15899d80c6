#include "core/runtime/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "core/runtime/printable.h"

namespace tributary::runtime {
namespace {

// journald stamps and sorts lines; it reads "<N>" as the syslog level (sd-daemon(3)).
class JournalFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    constexpr std::string_view kPrefix[] = {"<7>", "<7>", "<6>", "<4>", "<3>", "<2>", "<6>"};
    const std::string_view prefix = kPrefix[message.level];
    out.append(prefix.data(), prefix.data() + prefix.size());
    out.append(Printable({message.payload.data(), message.payload.size()}));
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JournalFormatter>(); }
};

class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    out.append(Printable({message.payload.data(), message.payload.size()}));
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableMessage>();
  }
};

// Remembers the latest error, for those who ask the daemon how it is.
class ErrorSink final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& message) override {
    if (message.level < spdlog::level::err) return;
    LoggedError error{Printable({message.payload.data(), message.payload.size()}),
                      std::chrono::nanoseconds(message.time.time_since_epoch()).count()};
    const MutexLock lock(mutex_);
    latest_ = std::move(error);
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

  std::optional<LoggedError> latest() const {
    const MutexLock lock(mutex_);
    return latest_;
  }

 private:
  mutable Mutex mutex_;
  std::optional<LoggedError> latest_ GUARDED_BY(mutex_);
};

const std::shared_ptr<ErrorSink>& Errors() {
  static const auto& errors = *new auto(std::make_shared<ErrorSink>());
  return errors;
}

}  // namespace

void LogLine(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  const spdlog::level::level_enum known = kLevels[static_cast<int>(level)];
  if (spdlog::should_log(known)) spdlog::log(known, fmt::vformat(format, arguments));
}

std::optional<LoggedError> LatestError() { return Errors()->latest(); }

absl::Status SetUpLog(std::string_view level) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return absl::InvalidArgumentError(
        fmt::format("log level: expected debug, info, warn or error, found \"{}\"", level));
  }
  static const bool created = [] {
    auto logger = spdlog::stderr_logger_mt("tributary");
    if (std::getenv("JOURNAL_STREAM") != nullptr) {
      logger->set_formatter(std::make_unique<JournalFormatter>());
    } else {
      auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
      formatter->add_flag<PrintableMessage>('v').set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v");
      logger->set_formatter(std::move(formatter));
    }
    logger->sinks().push_back(Errors());
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
    return true;
  }();
  (void)created;
  spdlog::set_level(parsed);
  return absl::OkStatus();
}

std::optional<std::string> LogLimit::Admit(std::int64_t now_ns) {
  const MutexLock lock(mutex_);
  const std::int64_t regained = written_ == 0 ? 0 : (now_ns - since_ns_) / interval_ns_;
  if (written_ == 0 || regained >= written_) {
    written_ = 0;
    since_ns_ = now_ns;
  } else {
    written_ -= static_cast<int>(regained);
    since_ns_ += regained * interval_ns_;
  }
  if (written_ >= burst_) {
    if (held_back_++ == 0) held_back_since_ns_ = now_ns;
    return std::nullopt;
  }
  ++written_;
  const std::uint64_t held_back = std::exchange(held_back_, 0);
  return held_back == 0 ? ""
                        : fmt::format("; {} like this one {} left out", Counted(held_back, "line"),
                                      held_back == 1 ? "was" : "were");
}

std::uint64_t LogLimit::TakeLeftOut(std::int64_t now_ns) {
  const MutexLock lock(mutex_);
  if (held_back_ == 0 || now_ns - held_back_since_ns_ < interval_ns_) return 0;
  return std::exchange(held_back_, 0);
}

}  // namespace tributary::runtime
