#include "aggregator/access/audit_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/runtime/log.h"
#include "core/runtime/thread_rank.h"
#include "core/status/macros.h"
#include "core/wire/json.h"

namespace tributary::access {
namespace {

constexpr std::int64_t kNsOfSecond = 1'000'000'000;
// What a peer chooses may be long.
constexpr std::size_t kMostText = 256;

std::string Shortened(const std::string& text) {
  return text.size() <= kMostText ? text : text.substr(0, kMostText) + "…";
}

std::string LineOf(const AuditEvent& event, std::int64_t unix_ns) {
  const std::string time = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(unix_ns / kNsOfSecond),
                                       unix_ns % kNsOfSecond / 1'000'000);
  return wire::DumpJson({{"time", time},
                         {"name", Shortened(event.caller.name)},
                         {"way", event.caller.way},
                         {"credential", event.caller.credential},
                         {"from", event.caller.from},
                         {"action", event.action},
                         {"subject", Shortened(event.subject)},
                         {"outcome", absl::StatusCodeToString(event.outcome.code())},
                         {"message", Shortened(std::string(event.outcome.message()))}}) +
         "\n";
}

absl::Status ErrnoStatus(const std::string& path, int error) {
  const std::string what = fmt::format("{}: {}", path, std::strerror(error));
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(what);
  return error == ENOENT || error == ENOTDIR ? absl::NotFoundError(what) : absl::UnavailableError(what);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path, const runtime::Clock& clock,
                                                         std::uint64_t most_bytes) {
  auto log = std::unique_ptr<AuditLog>(new AuditLog(path, clock, most_bytes));
  RETURN_IF_ERROR(log->OpenFile());
  log->thread_ = std::jthread([&log = *log](const std::stop_token& stop) { log.Run(stop); });
  return log;
}

AuditLog::~AuditLog() {
  {
    const runtime::MutexLock lock(mutex_);
    thread_.request_stop();
  }
  news_.notify_all();
}

absl::Status AuditLog::OpenFile() {
  file_ = runtime::Descriptor(open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file_.open()) return ErrnoStatus(path_, errno);
  struct stat facts {};
  bytes_ = fstat(file_.get(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
  return absl::OkStatus();
}

void AuditLog::Add(const AuditEvent& event) {
  std::string line = LineOf(event, clock_.UnixNs());
  const runtime::MutexLock lock(mutex_);
  if (waiting_.size() >= kMostWaiting) {
    ++lost_;
    return;
  }
  waiting_.push_back(std::move(line));
  news_.notify_one();
}

void AuditLog::Run(const std::stop_token& stop) {
  runtime::EnterThread("audit", runtime::ThreadRank::kBackground);
  while (true) {
    std::string line;
    {
      runtime::MutexLock lock(mutex_);
      while (waiting_.empty()) {
        if (stop.stop_requested()) return;
        news_.wait(lock);
      }
      line = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Write(line);
  }
}

void AuditLog::Write(const std::string& line) {
  const absl::Status status = TryToWrite(line);
  if (status.ok()) {
    ++written_;
    if (std::exchange(failing_, false)) runtime::LogInfo("audit log: {} is written again", path_);
    return;
  }
  ++lost_;
  // The log has what the file has not.
  runtime::LogError("audit log: {}; this event is not in it: {}", std::string(status.message()),
                    line.substr(0, line.size() - 1));
  failing_ = true;
}

absl::Status AuditLog::TryToWrite(const std::string& line) {
  // A disk that was full may have room again, and somebody may have moved the file away.
  struct stat facts {};
  if (!file_.open() || stat(path_.c_str(), &facts) != 0) RETURN_IF_ERROR(OpenFile());
  if (bytes_ > 0 && bytes_ + line.size() > most_bytes_) {
    if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) return ErrnoStatus(path_, errno);
    RETURN_IF_ERROR(OpenFile());
  }
  const ssize_t wrote = write(file_.get(), line.data(), line.size());
  if (wrote == static_cast<ssize_t>(line.size())) {
    bytes_ += line.size();
    return absl::OkStatus();
  }
  const int error = wrote < 0 ? errno : ENOSPC;
  // Half a line would spoil the next one.
  if (wrote > 0 && ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0)
    bytes_ += static_cast<std::uint64_t>(wrote);
  return ErrnoStatus(path_, error);
}

void CollectAudit(const AuditLog* log, runtime::Reading& reading) {
  const auto count = [&](const char* result, std::uint64_t number) {
    reading.Counter(
        "tributary_audit_events_total",
        "Operations that the audit log has, and those that it lost: its disk is full or too slow.",
        {{"result", result}}, number);
  };
  count("written", log == nullptr ? 0 : log->written());
  count("lost", log == nullptr ? 0 : log->lost());
}

}  // namespace tributary::access
