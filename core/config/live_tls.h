// The certificates in force: read at the start, and again on SIGHUP and when their files change.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/config/revocation_list.h"
#include "core/config/tls.h"
#include "core/runtime/clock.h"
#include "core/runtime/file_stamp.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::config {

// Any thread asks for what is in force. The thread that made it calls Reload and Poll. Files that are half
// written, do not belong together, have expired or name another process leave what is in force as it is: the
// reason is logged and counted, and they are read again until they are good.
class LiveTls {
 public:
  // `loaded` is what `files` held a moment ago, for these uses. The clock outlives it.
  LiveTls(const TlsFiles& files, TlsUses uses, LoadedTls loaded, const runtime::Clock& clock);
  // One that never changes, for tests and short commands.
  static std::shared_ptr<const LiveTls> Fixed(TlsMaterial material);

  std::shared_ptr<const TlsMaterial> material() const;
  // Never null.
  std::shared_ptr<const RevocationList> revoked() const;
  // Grows when other certificates, or another list, come into force.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  std::uint64_t list_version() const { return list_version_.load(std::memory_order_acquire); }

  // Takes the files as they are now, which may lie elsewhere.
  void Reload(const TlsFiles& files);
  // Call ten times a second, as often as it looks at the files and takes what has changed. A pair is
  // taken once nobody has written to it for a moment, a list at once. Says once a day what expires soon.
  void Poll();

  // Expiry, reloads and revoked certificates, as metrics.
  void Collect(runtime::Reading& reading) const;

 private:
  // What is read together.
  struct Part {
    std::vector<std::string> paths = {};
    std::vector<runtime::FileStamp> seen = {};
    bool due = false;         // to be read, at due_ns
    std::int64_t due_ns = 0;  // steady
    std::string fault = {};   // why the files are not taken; empty: they are
    std::atomic<std::uint64_t> taken = 0;
    std::atomic<std::uint64_t> refused = 0;
  };

  void Follow(const TlsFiles& files);
  void PollPart(Part& part, std::int64_t settle_ns, std::int64_t now_ns, absl::Status (LiveTls::*take)());
  void Read(Part& part, absl::Status (LiveTls::*take)());
  absl::Status TakePair();
  absl::Status TakeList();
  void Install(RevocationList list);
  void SayList() const;
  void SayWhatExpires() const;

  TlsFiles files_;
  const TlsUses uses_;
  const runtime::Clock& clock_;
  Part pair_, list_;
  std::int64_t next_poll_ns_ = 0, next_reminder_ns_ = 0;

  std::atomic<std::uint64_t> version_ = 1, list_version_ = 1;
  mutable runtime::Mutex mutex_;
  std::shared_ptr<const TlsMaterial> material_ GUARDED_BY(mutex_);
  std::shared_ptr<const RevocationList> revoked_ GUARDED_BY(mutex_);
};

// For the members of a process: null without TLS.
using TlsSource = std::shared_ptr<const LiveTls>;

// "expires in 12 days, on 2026-12-05" within 30 days of that time, "expired on …" after it, else nothing. For
// logs and commands.
std::string ExpiryWarning(std::int64_t expires_unix_s, std::int64_t now_unix_s);

// What to do about it.
inline constexpr char kExpiryRemedy[] =
    "Make a new one with `tributary certs` and copy it there; daemons take it without a restart";

}  // namespace tributary::config
