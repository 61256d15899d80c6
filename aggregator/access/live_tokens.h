// The bearer tokens in force, which change with their file.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/config/access_tokens.h"
#include "core/runtime/clock.h"
#include "core/runtime/file_stamp.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::access {

// Any thread asks. One thread calls Poll. A file that cannot be read leaves the tokens as they are: the
// reason is logged and counted, and it is read again until it is good. A file that is no more has no tokens.
class LiveTokens {
 public:
  // Told of each token that comes into force or goes; on the thread that calls Poll.
  using Told = std::function<void(const config::AccessToken& token, bool added)>;

  // `path`: empty for none. The clock outlives it.
  LiveTokens(std::string path, config::TokenSet tokens, const runtime::Clock& clock, Told told = nullptr)
      : path_(std::move(path)),
        clock_(clock),
        told_(std::move(told)),
        tokens_(std::make_shared<const config::TokenSet>(std::move(tokens))) {}

  // Never null.
  std::shared_ptr<const config::TokenSet> tokens() const {
    const runtime::MutexLock lock(mutex_);
    return tokens_;
  }
  bool configured() const { return !path_.empty(); }

  // Call ten times a second: takes the file if it has changed.
  void Poll();
  void Collect(runtime::Reading& reading) const;

 private:
  static constexpr std::int64_t kRetryNs = 1'000'000'000;

  const std::string path_;
  const runtime::Clock& clock_;
  const Told told_;
  runtime::FileStamp seen_;
  bool due_ = true;  // the file may have changed since it was read
  std::int64_t due_ns_ = 0;
  std::string fault_;
  std::atomic<std::uint64_t> taken_ = 0, refused_ = 0;
  mutable runtime::Mutex mutex_;
  std::shared_ptr<const config::TokenSet> tokens_ GUARDED_BY(mutex_);
};

}  // namespace tributary::access
