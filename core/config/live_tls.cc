#include "core/config/live_tls.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "absl/strings/str_replace.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::config {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kPollNs = kSecondNs / 10;
// A certificate and its key come one after the other.
constexpr std::int64_t kSettleNs = kSecondNs * 3 / 10;
constexpr std::int64_t kRetryNs = kSecondNs;
constexpr std::int64_t kDayS = 86'400;
constexpr std::int64_t kWarnDays = 30;

std::string Date(std::int64_t unix_s) { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(unix_s)); }

std::int64_t NowUnixS(const runtime::Clock& clock) { return clock.UnixNs() / kSecondNs; }

}  // namespace

std::string ExpiryWarning(std::int64_t expires_unix_s, std::int64_t now_unix_s) {
  const std::int64_t left_s = expires_unix_s - now_unix_s;
  if (left_s <= 0) return fmt::format("expired on {}", Date(expires_unix_s));
  if (left_s > kWarnDays * kDayS) return "";
  return fmt::format("expires in {}, on {}",
                     runtime::Counted(static_cast<std::uint64_t>(left_s / kDayS), "day"),
                     Date(expires_unix_s));
}

LiveTls::LiveTls(const TlsFiles& files, TlsUses uses, LoadedTls loaded, const runtime::Clock& clock)
    : uses_(uses),
      clock_(clock),
      material_(std::make_shared<const TlsMaterial>(std::move(loaded.material))),
      revoked_(std::make_shared<const RevocationList>(std::move(loaded.revoked))) {
  Follow(files);
  // The files may have changed since they were loaded.
  pair_.due = list_.due = true;
  if (!files_.crl.empty()) SayList();
}

std::shared_ptr<const LiveTls> LiveTls::Fixed(TlsMaterial material) {
  static const runtime::SystemClock clock;
  return std::make_shared<const LiveTls>(TlsFiles(), TlsUses(), LoadedTls{std::move(material)}, clock);
}

std::shared_ptr<const TlsMaterial> LiveTls::material() const {
  const runtime::MutexLock lock(mutex_);
  return material_;
}

std::shared_ptr<const RevocationList> LiveTls::revoked() const {
  const runtime::MutexLock lock(mutex_);
  return revoked_;
}

void LiveTls::Follow(const TlsFiles& files) {
  files_ = files;
  pair_.paths = {files.certificate, files.key, files.ca};
  list_.paths = {files.crl};
  for (Part* part : {&pair_, &list_}) {
    part->seen.clear();
    for (const std::string& path : part->paths) part->seen.push_back(runtime::StampOf(path));
  }
}

void LiveTls::Reload(const TlsFiles& files) {
  Follow(files);
  Read(pair_, &LiveTls::TakePair);
  if (!files_.crl.empty()) return Read(list_, &LiveTls::TakeList);
  if (revoked()->size() == 0) return;
  runtime::LogWarning("tls: no list of revoked certificates is named any more: all of the CA are admitted");
  Install(RevocationList());
}

void LiveTls::Install(RevocationList list) {
  {
    auto made = std::make_shared<const RevocationList>(std::move(list));
    const runtime::MutexLock lock(mutex_);
    revoked_ = std::move(made);
  }
  list_version_.fetch_add(1, std::memory_order_release);
}

void LiveTls::Poll() {
  const std::int64_t now_ns = clock_.SteadyNs();
  if (now_ns < next_poll_ns_) return;
  next_poll_ns_ = now_ns + kPollNs;
  PollPart(pair_, kSettleNs, now_ns, &LiveTls::TakePair);
  if (!files_.crl.empty()) PollPart(list_, 0, now_ns, &LiveTls::TakeList);
  if (now_ns < next_reminder_ns_) return;
  next_reminder_ns_ = now_ns + kDayS * kSecondNs;
  SayWhatExpires();
}

void LiveTls::PollPart(Part& part, std::int64_t settle_ns, std::int64_t now_ns,
                       absl::Status (LiveTls::*take)()) {
  std::vector<runtime::FileStamp> stamps;
  for (const std::string& path : part.paths) stamps.push_back(runtime::StampOf(path));
  if (stamps != part.seen) {
    part.seen = std::move(stamps);
    part.due = true;
    part.due_ns = now_ns + settle_ns;
  }
  if (part.due && now_ns >= part.due_ns) Read(part, take);
}

void LiveTls::Read(Part& part, absl::Status (LiveTls::*take)()) {
  const absl::Status status = (this->*take)();
  std::string fault(status.message());
  // Nobody may write to them again, so a read that came too early is repeated.
  part.due = !status.ok();
  part.due_ns = clock_.SteadyNs() + kRetryNs;
  if (!status.ok() && fault != part.fault) {
    ++part.refused;
    runtime::LogWarning("tls: the changed files are refused, the earlier ones stay in force: {}",
                        absl::StrReplaceAll(runtime::Printable(fault), {{"\n", "; "}}));
  }
  if (status.ok() && !part.fault.empty()) runtime::LogInfo("tls: the changed files are in order again");
  part.fault = std::move(fault);
}

absl::Status LiveTls::TakePair() {
  ASSIGN_OR_RETURN(TlsMaterial next, LoadTls(files_, uses_));
  const std::shared_ptr<const TlsMaterial> before = material();
  // The aggregator above knows this process by that name.
  if (uses_.client && next.name != before->name) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: is the certificate of \"{}\", this process is \"{}\"; give it its own, or restart it",
        files_.certificate, next.name, before->name));
  }
  const bool same = next.certificate_pem == before->certificate_pem && next.key_pem == before->key_pem &&
                    next.ca_pem == before->ca_pem;
  if (same) return absl::OkStatus();
  const std::int64_t expires_unix_s = next.expires_unix_s;
  {
    auto made = std::make_shared<const TlsMaterial>(std::move(next));
    const runtime::MutexLock lock(mutex_);
    material_ = std::move(made);
  }
  version_.fetch_add(1, std::memory_order_release);
  ++pair_.taken;
  runtime::LogInfo("tls: {} is in force for new connections, valid until {}", files_.certificate,
                   Date(expires_unix_s));
  SayWhatExpires();
  return absl::OkStatus();
}

absl::Status LiveTls::TakeList() {
  ASSIGN_OR_RETURN(RevocationList next, LoadRevocations(files_, *material()));
  const std::shared_ptr<const RevocationList> before = revoked();
  if (absl::Status status = next.MayReplace(*before); !status.ok()) {
    return absl::Status(status.code(), fmt::format("{}: {}", files_.crl, std::string(status.message())));
  }
  if (next == *before) return absl::OkStatus();
  Install(std::move(next));
  ++list_.taken;
  SayList();
  return absl::OkStatus();
}

void LiveTls::SayList() const {
  const std::shared_ptr<const RevocationList> now = revoked();
  runtime::LogInfo("tls: {} is in force: {}{}", files_.crl,
                   runtime::Counted(now->size(), "revoked certificate"),
                   now->expires_unix_s() == 0 ? "" : ", valid until " + Date(now->expires_unix_s()));
  if (now->unlisted() == 0) return;
  runtime::LogWarning(
      "tls: {} has no list of {} in {}, so what these have revoked is admitted; put the crl.pem of each CA "
      "into it",
      files_.crl, runtime::Counted(now->unlisted(), "CA"), files_.ca);
}

void LiveTls::SayWhatExpires() const {
  const std::int64_t now_unix_s = NowUnixS(clock_);
  const auto warn = [now_unix_s](const std::string& path, std::int64_t expires_unix_s, const char* advice) {
    const std::string warning = ExpiryWarning(expires_unix_s, now_unix_s);
    if (!warning.empty()) runtime::LogWarning("tls: {} {}: {}", path, warning, advice);
  };
  const std::shared_ptr<const TlsMaterial> now = material();
  warn(files_.certificate, now->expires_unix_s,
       "make a new one with `tributary certs` and copy it here, unless the node renews it (renew = true); it "
       "needs no restart");
  warn(files_.ca, now->ca_expires_unix_s, "replace the CA everywhere; docs/running.md says how");
  const std::int64_t list_expires_unix_s = revoked()->expires_unix_s();
  if (list_expires_unix_s == 0) return;
  warn(files_.crl, list_expires_unix_s,
       "what it names stays refused; make a newer one with `tributary certs revoke`");
}

void LiveTls::Collect(runtime::Reading& reading) const {
  const double now_unix_s = static_cast<double>(clock_.UnixNs()) / static_cast<double>(kSecondNs);
  const auto expiry = [&](const char* use, std::int64_t expires_unix_s) {
    reading.Gauge("tributary_certificate_expiry_seconds",
                  "Time until a certificate in force expires, negative after that, s. Use: server and client "
                  "are this process's own certificate, ca the CA's, crl the list of revoked certificates.",
                  {{"use", use}}, static_cast<double>(expires_unix_s) - now_unix_s);
  };
  const std::shared_ptr<const TlsMaterial> now = material();
  if (uses_.server) expiry("server", now->expires_unix_s);
  if (uses_.client) expiry("client", now->expires_unix_s);
  expiry("ca", now->ca_expires_unix_s);
  const std::shared_ptr<const RevocationList> list = revoked();
  if (list->expires_unix_s() != 0) expiry("crl", list->expires_unix_s());
  reading.Gauge("tributary_certificates_revoked", "Certificates on the list of revoked ones.", {},
                list->size());
  for (const auto& [files, part] : {std::pair{"certificate", &pair_}, std::pair{"crl", &list_}}) {
    const auto count = [&, files = files](const char* result, std::uint64_t number) {
      reading.Counter("tributary_tls_reloads_total",
                      "Changed certificates (with key and CA) and lists of revoked ones: taken, or refused "
                      "because they were at fault.",
                      {{"files", files}, {"result", result}}, number);
    };
    count("taken", part->taken);
    count("refused", part->refused);
  }
}

}  // namespace tributary::config
