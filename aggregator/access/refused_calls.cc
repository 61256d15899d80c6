#include "aggregator/access/refused_calls.h"

#include <fmt/format.h>

#include "core/runtime/printable.h"

namespace tributary::access {
namespace {

constexpr std::int64_t kMinuteNs = std::int64_t{60} * 1'000'000'000;

}  // namespace

void RefusedCalls::Count(const std::string& name, std::string_view method, const absl::Status& refusal,
                         std::int64_t now_ns) {
  const runtime::MutexLock lock(mutex_);
  if (kinds_.empty()) began_ns_ = now_ns;
  std::pair<std::string, std::string> key(name, method);
  if (kinds_.size() >= kMostKinds && !kinds_.contains(key)) key = {"", "other calls"};
  Kind& kind = kinds_[std::move(key)];
  if (kind.count++ == 0) kind.first = refusal;
}

void RefusedCalls::Tell(AuditLog* audit, std::int64_t now_ns, bool all) {
  std::map<std::pair<std::string, std::string>, Kind> told;
  {
    const runtime::MutexLock lock(mutex_);
    if (kinds_.empty() || (!all && now_ns - began_ns_ < kMinuteNs)) return;
    told.swap(kinds_);
  }
  if (audit == nullptr) return;
  for (const auto& [key, kind] : told) {
    const std::string text =
        fmt::format("{} refused within a minute; the first: {}", runtime::Counted(kind.count, "call"),
                    std::string(kind.first.message()));
    audit->Add(
        {{.name = key.first, .way = "certificate"}, key.second, "", absl::Status(kind.first.code(), text)});
  }
}

}  // namespace tributary::access
