#include "aggregator/access/live_tokens.h"

#include "core/runtime/log.h"
#include "core/runtime/printable.h"

namespace tributary::access {

void LiveTokens::Poll() {
  if (path_.empty()) return;
  const std::int64_t now_ns = clock_.SteadyNs();
  const runtime::FileStamp stamp = runtime::StampOf(path_);
  if (stamp != seen_) {
    seen_ = stamp;
    due_ = true;
    due_ns_ = now_ns;
  }
  if (!due_ || now_ns < due_ns_) return;
  absl::StatusOr<config::TokenSet> read = config::TokenSet::Read(path_);
  due_ = !read.ok();
  due_ns_ = now_ns + kRetryNs;
  std::string fault(read.status().message());
  if (!read.ok() && fault != fault_) {
    ++refused_;
    runtime::LogWarning("tokens: the changed file is refused, the earlier tokens stay in force: {}",
                        runtime::Printable(fault));
  }
  fault_ = std::move(fault);
  if (!read.ok()) return;
  const std::shared_ptr<const config::TokenSet> before = tokens();
  if (read->tokens() == before->tokens()) return;
  const auto now = std::make_shared<const config::TokenSet>(*std::move(read));
  {
    const runtime::MutexLock lock(mutex_);
    tokens_ = now;
  }
  ++taken_;
  runtime::LogInfo("tokens: {} is in force: {}", path_, runtime::Counted(now->tokens().size(), "token"));
  if (told_ == nullptr) return;
  const auto tell = [this](const config::TokenSet& from, const config::TokenSet& other, bool added) {
    for (const config::AccessToken& each : from.tokens()) {
      const config::AccessToken* const same = other.FindId(each.id);
      if (same == nullptr || !(*same == each)) told_(each, added);
    }
  };
  tell(*before, *now, false);
  tell(*now, *before, true);
}

void LiveTokens::Collect(runtime::Reading& reading) const {
  reading.Gauge("tributary_access_tokens",
                "Bearer tokens in force or expired, in the file of [access] tokens.", {},
                tokens()->tokens().size());
  for (const auto& [result, count] : {std::pair{"taken", &taken_}, std::pair{"refused", &refused_}}) {
    reading.Counter("tributary_token_reloads_total",
                    "Changed files of bearer tokens: taken, or refused because they were at fault.",
                    {{"result", result}}, count->load());
  }
}

}  // namespace tributary::access
